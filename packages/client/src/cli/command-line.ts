import { CountersignError } from '../index.ts';
import { VERSION } from '../version.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './commands.ts';
import { isContentRejection } from './content-rejection.ts';
import { CommandError, type Ending, EXIT_CODES, wrongUse } from './exit-codes.ts';
import { annotateError } from './github.ts';
import { groupHelp, helpOf, overview } from './help.ts';
import { hasHelpOption, readArguments } from './options.ts';
import { shortLine } from './plain-text.ts';
import { containsKey } from './redaction.ts';
import { Session } from './session.ts';
import { processTerminal, type Terminal } from './terminal.ts';

/** Runs one command and returns the exit status of the process. Never throws. */
export async function runCommandLine(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  const session = new Session(terminal);
  const end = args.indexOf('--');
  const flags = args.slice(0, end === -1 ? undefined : end);
  // These flags are read before parsing, so that parse errors are reported in the requested form too.
  session.json = flags.includes('--json');
  session.debug = flags.includes('--debug');
  try {
    return EXIT_CODES[await run(session, args)].status;
  } catch (error) {
    return report(session, error);
  }
}

async function run(session: Session, args: readonly string[]): Promise<Ending> {
  if (args.some(containsKey))
    throw wrongUse(
      'the command line contains a key: other users can read the command line, and logs may show it; ' +
        'rotate the key, and pass the new one as COUNTERSIGN_API_KEY or with --key-stdin',
    );
  const match = commandOf(args);
  if (match === undefined) return runWithoutCommand(session, args);
  const { command, rest } = match;
  if (hasHelpOption(rest, command.options)) {
    session.write(helpOf(command));
    return 'ok';
  }
  const { values, positionals } = readArguments(rest, command.options);
  if (positionals.length > 0 && command.takesArguments !== true)
    throw wrongUse(
      `${command.name} takes no argument ${JSON.stringify(positionals[0])}; countersign ${command.name} --help shows its options`,
    );
  return command.run(session, values, positionals);
}

/** The flags that can precede a command. They have been read already. */
const isLeadingFlag = (word: string): boolean => word === '--json' || word === '--debug';

/** The command whose name is the first one or two words after leading flags; undefined if there is none. */
function commandOf(args: readonly string[]): { command: Command; rest: readonly string[] } | undefined {
  const start = args.findIndex((word) => !isLeadingFlag(word));
  for (const command of COMMANDS) {
    const words = command.name.split(' ');
    if (start >= 0 && words.every((word, index) => args[start + index] === word))
      return { command, rest: args.slice(start + words.length) };
  }
  return undefined;
}

function runWithoutCommand(session: Session, args: readonly string[]): Ending {
  const [first] = args.filter((word) => !isLeadingFlag(word));
  if (first === '--version') session.write(`${VERSION}\n`);
  else if (first !== undefined && hasHelpOption(args, {}) && groupOf(first).length > 0)
    session.write(groupHelp(first, groupOf(first)));
  else if (first === '--help' || first === '-h' || first === 'help') session.write(overview(COMMANDS));
  else if (first === undefined) throw wrongUse('a command is missing; countersign --help lists the commands');
  else throw wrongUse(unknownCommand(first, args));
  return 'ok';
}

/** The commands of two words that start with this word. */
const groupOf = (word: string): Command[] => COMMANDS.filter(({ name }) => name.startsWith(`${word} `));

/** The message for a command that does not exist. */
function unknownCommand(first: string, args: readonly string[]): string {
  const commands = groupOf(first).map(({ name }) => name);
  if (commands.length > 0) return `${JSON.stringify(first)} needs a second word: ${commands.join(', ')}`;
  const start = args.indexOf(first);
  const options = args.findIndex((word, index) => index > start && word.startsWith('-'));
  const words = args.slice(start, options === -1 ? undefined : options).slice(0, 2);
  return `unknown command ${JSON.stringify(words.join(' '))}; countersign --help lists the commands`;
}

function report(session: Session, error: unknown): number {
  const { ending, message } = failureOf(error);
  session.writeToStderr(session.json ? JSON.stringify({ error: ending, message }) : `countersign: ${message}`);
  annotateError(session, 'countersign', message);
  if (session.debug) session.writeToStderr(error instanceof Error ? (error.stack ?? '') : String(error));
  return EXIT_CODES[ending].status;
}

/** The ending and the message for an error. Every unexpected error is `undecided`, so that it never looks like a decision. */
function failureOf(error: unknown): { ending: Ending; message: string } {
  if (error instanceof CommandError) return { ending: error.ending, message: shortLine(error.message, 1000) };
  if (error instanceof CountersignError)
    return { ending: isContentRejection(error) ? 'wrong_use' : 'undecided', message: shortLine(error.message, 1000) };
  const text = error instanceof Error ? error.message : String(error);
  return { ending: 'undecided', message: shortLine(`internal error: ${text}; --debug shows where`, 1000) };
}
