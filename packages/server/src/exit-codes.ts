/**
 * What the command's exit status says (README, "Exit codes"; `countersign-server --help` prints the same table).
 * A stranger's script can tell what went wrong without reading the message.
 */
export const EXIT_CODES = {
  ok: { status: 0, meaning: 'Done. For `ledger verify`: all of it is whole.' },
  broken: {
    status: 1,
    meaning: '`ledger verify`: the log is broken; the first bad row, or the checkpoint that is not met, is named.',
  },
  wrong_use: { status: 2, meaning: 'The command line is wrong: an unknown command or option, a missing or malformed argument.' },
  bad_configuration: { status: 3, meaning: 'An environment variable is wrong; the message names it.' },
  port_in_use: { status: 4, meaning: 'The port is in use, or may not be listened on.' },
  schema_older: { status: 5, meaning: 'The database is older than this server: run `countersign-server migrate`.' },
  schema_newer: { status: 6, meaning: 'The database is newer than this server: start the newer server.' },
  wrong_secret: { status: 7, meaning: 'The secrets are not those the database was made with, or are missing.' },
  database_away: { status: 8, meaning: 'The database cannot be reached or started, or there is none yet.' },
  refused: { status: 9, meaning: 'The rules or the state of the workspace refuse the act; the message says why.' },
  fault: { status: 70, meaning: 'A fault of Countersign itself.' },
} as const;
export type ExitReason = keyof typeof EXIT_CODES;

/** Ends the command with one clear line and its own exit code. */
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
