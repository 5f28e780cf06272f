import { type Command, CommanderError } from 'commander';
import { addAgents } from './agents.ts';
import { addApprovals } from './approvals.ts';
import { addBackup } from './backup.ts';
import { addDecisionKey } from './decision-key.ts';
import { failureOf, statusOf } from './failure.ts';
import { epilogue } from './help.ts';
import { addIncidents } from './incidents.ts';
import { addKeys, addTokens } from './keys.ts';
import { addLedger } from './ledger.ts';
import { addMembers } from './members.ts';
import { addRestore } from './restore.ts';
import { addRetention } from './retention.ts';
import { addRuns } from './runs.ts';
import { addServe } from './serve.ts';
import { OutputClosedError, Session, type Terminal } from './session.ts';
import { addSigningKey } from './signing-key.ts';
import { StrictCommand } from './strict-command.ts';
import { addTrust } from './trust.ts';
import { VERSION } from './version.ts';
import { addWorkspace } from './workspace.ts';

/** The standard streams of this process. */
const ownTerminal = (): Terminal => ({ out: process.stdout, err: process.stderr });

/** Runs one command and returns the exit status of the process. Never throws. */
export async function runCommandLine(args: string[], terminal: Terminal = ownTerminal()): Promise<number> {
  // A reader may close the stream. Without a listener, the error would end the process with a stack trace.
  for (const stream of [terminal.out, terminal.err]) if (stream.listenerCount('error') === 0) stream.on('error', () => undefined);
  const session = new Session(terminal, requestsJson(args));
  try {
    const program = createCommandLine(session, terminal);
    await program.parseAsync(moveKeyIdsToEnd(arrangeArguments(args, program)), { from: 'user' });
    return statusOf(session.ending);
  } catch (error) {
    return reportError(error, session, terminal);
  }
}

/**
 * Rearranges arguments for commander: moves a leading --json behind the command, and turns `help COMMAND` into `COMMAND --help`. Also
 * removes --help after an unknown command, so that the unknown command is reported.
 */
function arrangeArguments(args: readonly string[], program: Command): string[] {
  const [first, ...rest] = args;
  const findCommand = (word: string | undefined) => program.commands.find((command) => command.name() === word);
  if (first === '--json' && rest.length > 0) {
    const words = findCommand(rest[0])?.commands.length === 0 ? 1 : 2;
    return arrangeArguments([...rest.slice(0, words), first, ...rest.slice(words)], program);
  }
  if (first === 'help' && rest.length > 0) return arrangeArguments([...rest, '--help'], program);
  const isKnown = first === undefined || first.startsWith('-') || first === 'help' || findCommand(first) !== undefined;
  return isKnown ? [...args] : args.filter((arg) => arg !== '--help' && arg !== '-h');
}

/** A signing key's ID that looks like an option: a thumbprint in base64url (RFC 7638); one in 64 starts with a hyphen. */
const HYPHENED_KEY_ID = /^-[\w-]{42}$/;

/** For `signing-key`: puts an ID that starts with a hyphen after `--`, so that users need not type `--`. */
function moveKeyIdsToEnd(args: string[]): string[] {
  if (args[0] !== 'signing-key' || args.includes('--')) return args;
  const ids = args.filter((arg) => HYPHENED_KEY_ID.test(arg));
  return ids.length === 0 ? args : [...args.filter((arg) => !ids.includes(arg)), '--', ...ids];
}

/** Whether --json is given. It is read before parsing, so that parse errors too are reported in the requested form. */
function requestsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes('--json');
}

function createCommandLine(session: Session, { out, err }: Terminal): Command {
  const program = new StrictCommand('countersign-server')
    .description('Countersign, the governance ledger for AI agents: the server and its administration.')
    .version(VERSION, '--version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => out.write(text),
      // Commander writes the help here if a command is missing. Only reportError() writes errors.
      writeErr: (text) => session.json || err.write(text),
      outputError: () => undefined,
      getOutHelpWidth: () => 100,
      getErrHelpWidth: () => 100,
    })
    .addHelpText('after', ({ command }) => (command.parent === null ? epilogue() : ''));
  const groups = [
    addServe,
    addBackup,
    addRestore,
    addWorkspace,
    addMembers,
    addKeys,
    addTokens,
    addDecisionKey,
    addSigningKey,
    addTrust,
    addAgents,
    addApprovals,
    addIncidents,
    addRetention,
    addRuns,
    addLedger,
  ];
  for (const add of groups) add(program, session);
  return program;
}

function reportError(error: unknown, session: Session, terminal: Terminal): number {
  if (error instanceof OutputClosedError) return statusOf(session.ending);
  if (error instanceof CommanderError && error.exitCode === 0) return statusOf('ok');
  const isHelp = error instanceof CommanderError && error.code === 'commander.help';
  const { reason, message } = isHelp
    ? { reason: 'wrong_use' as const, message: 'a command is missing; --help lists the commands' }
    : failureOf(error);
  if (session.json) terminal.err.write(JSON.stringify({ error: reason, message }) + '\n');
  else if (!isHelp) terminal.err.write(`countersign-server: ${message}\n`);
  if (reason === 'fault' && showsStack(session)) terminal.err.write(`${(error as Error)?.stack ?? error}\n`);
  return statusOf(reason);
}

function showsStack(session: Session): boolean {
  try {
    return ['debug', 'trace'].includes(session.config.logLevel);
  } catch {
    return false; // The configuration itself may be invalid.
  }
}
