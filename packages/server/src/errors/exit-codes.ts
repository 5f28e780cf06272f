/**
 * The exit codes of the command, so that scripts can react without parsing messages. docs/commands.md and
 * `countersign-server --help` list this table.
 */
export const EXIT_CODES = {
  ok: { status: 0, meaning: 'Success. For `ledger verify`: the log is valid.' },
  broken: {
    status: 1,
    meaning:
      'A log is not valid, or the backup is damaged or cannot be restored completely. `ledger verify` names the first invalid row or the checkpoint that does not match.',
  },
  wrong_use: {
    status: 2,
    meaning:
      'Usage error: an unknown command or option, a missing or malformed argument, or a file that cannot be read or written.',
  },
  bad_configuration: { status: 3, meaning: 'Invalid environment variable. The message names it.' },
  port_in_use: { status: 4, meaning: 'The port is in use or not permitted.' },
  schema_older: { status: 5, meaning: 'The database schema is older than this server. Run `countersign-server migrate`.' },
  schema_newer: { status: 6, meaning: 'The database schema or the backup is newer than this server. Use the newer version.' },
  wrong_secret: { status: 7, meaning: 'The secrets are missing, or do not belong to the database or the backup.' },
  database_away: { status: 8, meaning: 'The database cannot be reached, started or used, or does not exist yet.' },
  refused: { status: 9, meaning: 'The rules or the current state do not allow the action. The message says why.' },
  fault: { status: 70, meaning: 'Internal error of Countersign.' },
} as const;
export type ExitReason = keyof typeof EXIT_CODES;

/** Ends the command with a message and an exit code. */
export class ExitError extends Error {
  override name = 'ExitError';
  readonly reason: ExitReason;

  constructor(reason: ExitReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }

  get status(): number {
    return EXIT_CODES[this.reason].status;
  }
}
