/** The exit statuses; `countersign --help` prints this table. */
export const EXIT_CODES = {
  ok: { status: 0, meaning: 'Done. gate: the agent may be promoted. verify: the decision is genuine, or the export is valid.' },
  no: {
    status: 1,
    meaning: 'gate: blocked. verify: not genuine or not valid; with --allowed, also a blocked decision. doctor: a check failed.',
  },
  wrong_use: {
    status: 2,
    meaning: 'Wrong option, variable or file, or the service rejected the record (400, 413, 422); the message names the cause.',
  },
  undecided: {
    status: 3,
    meaning:
      'No valid response: for example a network error, 401, 5xx, invalid signature, or a decision that is old or about something else.',
  },
  pending: { status: 4, meaning: 'gate: blocked only because an approval is pending.' },
} as const;
export type Ending = keyof typeof EXIT_CODES;

/** Ends the command with a message and an exit status. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly ending: Ending;

  constructor(ending: Ending, message: string, options?: ErrorOptions) {
    super(message, options);
    this.ending = ending;
  }
}

/** An error in the command line, the environment or a file. */
export const wrongUse = (message: string, cause?: unknown): CommandError => new CommandError('wrong_use', message, { cause });
