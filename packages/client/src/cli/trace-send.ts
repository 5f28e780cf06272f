import { firstChangeByParsing } from '@countersign/core/domain/exact-json';
import type { Trace } from '../index.ts';
import { command } from './command.ts';
import { isContentRejection } from './content-rejection.ts';
import { CommandError, wrongUse } from './exit-codes.ts';
import { decodeText, readTextFile } from './files.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import { recordIdOf } from './record-id.ts';
import type { Session } from './session.ts';

const OPTIONS = { ...CONNECTION } as const satisfies Options;

/** `trace send`: sends traces from a file. */
export const traceSend = command({
  name: 'trace send',
  arguments: 'FILE',
  takesArguments: true,
  summary: 'Send the traces in FILE (- for standard input): one JSON object, an array of them, or NDJSON.',
  options: OPTIONS,
  examples: ['countersign trace send run.json', 'countersign trace send runs.ndjson'],
  notes:
    'If a trace is sent again, the service merges it with the stored one. So you can send a file again after a failure.\n' +
    'A file is rejected if it has a repeated member, a whole number that no double represents, or a number outside the range of doubles.',
  async run(session, values, [path, ...more]) {
    if (path === undefined || more.length > 0) throw wrongUse('give one FILE with traces');
    const traces = readTraces(path, await textOf(session, path, values['key-stdin'] === true));
    const client = await session.client(values);
    const responses: object[] = [];
    const ids: string[] = [];
    for (const trace of traces) {
      try {
        const response = await client.traces.send(trace);
        ids.push(recordIdOf(response, 'id'));
        responses.push(response);
      } catch (error) {
        const reason = shortLine((error as Error).message, 600);
        const ending = isContentRejection(error) ? 'wrong_use' : 'undecided';
        throw new CommandError(
          ending,
          `trace ${responses.length + 1} of ${traces.length}: ${reason}; traces stored before it: ${responses.length}`,
          {
            cause: error,
          },
        );
      }
    }
    session.writeResult({ sent: responses }, ids);
    session.say(`sent: ${traces.length === 1 ? '1 trace' : `${traces.length} traces`}`);
    return 'ok';
  },
});

async function textOf(session: Session, path: string, keyIsOnStdin: boolean): Promise<string> {
  if (path !== '-') return readTextFile(path);
  if (keyIsOnStdin)
    throw wrongUse('standard input cannot contain both the key and the traces: set COUNTERSIGN_API_KEY, or give a file');
  return decodeText('-', await session.terminal.input());
}

function readTraces(path: string, text: string): Trace[] {
  if (text.trim() === '') throw wrongUse(`${JSON.stringify(path)} is empty`);
  const whole = parseJson(text);
  if (whole !== undefined) requireUnchanged(JSON.stringify(path), text);
  const values = whole === undefined ? linesOf(path, text) : Array.isArray(whole) ? whole : [whole];
  if (values.length === 0) throw wrongUse(`${JSON.stringify(path)} contains no traces`);
  for (const [index, value] of values.entries())
    if (typeof value !== 'object' || value === null || typeof (value as Trace).trace_id !== 'string')
      throw wrongUse(`${JSON.stringify(path)}: item ${index + 1} is not a trace: it has no trace_id`);
  return values as Trace[];
}

function linesOf(path: string, text: string): unknown[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const value = parseJson(line);
    if (value === undefined)
      throw wrongUse(`${JSON.stringify(path)} is neither JSON nor NDJSON: line ${index + 1} cannot be read`);
    requireUnchanged(`${JSON.stringify(path)}: line ${index + 1}`, line);
    return [value];
  });
}

/** Throws a CommandError if a value of the text would be sent changed. The service stores traces as they are sent. */
function requireUnchanged(where: string, text: string): void {
  const change = firstChangeByParsing(text);
  if (change !== undefined) throw wrongUse(`${where}: ${change.message} (at ${change.path})`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
