import type { Ending } from './exit-codes.ts';
import type { COMMON, Options, Values } from './options.ts';
import type { Session } from './session.ts';

/** One command with its help. */
export interface Command<O extends Options = Options> {
  /** `gate`, or two words such as `evaluate record`. */
  name: string;
  summary: string;
  /** The arguments in the usage line. */
  arguments?: string;
  options: O;
  examples: readonly string[];
  /** Text at the end of the help. */
  notes?: string;
  /** Whether the command takes positional arguments. */
  takesArguments?: boolean;
  run(session: Session, values: Values<O & typeof COMMON>, positionals: readonly string[]): Promise<Ending>;
}

/** Defines a command. Its `run` gets the values with the types of the command's own options. */
export const command = <const O extends Options>(definition: Command<O>): Command => definition as unknown as Command;
