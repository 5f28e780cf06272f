/** What the exit status says; `countersign --help` prints this table. */
export const EXIT_CODES = {
  ok: { status: 0, meaning: 'Done. gate: the agent may be promoted. verify: genuine and whole.' },
  no: { status: 1, meaning: 'gate: blocked. verify: not genuine, or broken. doctor: something is wrong.' },
  wrong_use: {
    status: 2,
    meaning:
      'The command line, the environment or a file given is wrong, or the service refuses what was to be recorded (400, 413, 422); the message names it.',
  },
  undecided: {
    status: 3,
    meaning: 'No answer that can be believed: network, 401, 5xx, bad signature, an old decision or one about something else.',
  },
  pending: { status: 4, meaning: 'gate: blocked only because an approval is pending.' },
} as const;
export type Ending = keyof typeof EXIT_CODES;

/** Ends the command with one line for people and a status of its own. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly ending: Ending;

  constructor(ending: Ending, message: string, options?: ErrorOptions) {
    super(message, options);
    this.ending = ending;
  }
}

/** The command line, the environment or a file is not as it must be. */
export const wrongUse = (message: string, cause?: unknown): CommandError => new CommandError('wrong_use', message, { cause });
