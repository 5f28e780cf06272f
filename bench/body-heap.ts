/**
 * `node bench/body-heap.ts [KIND [SHAPE]]` measures the heap that the worker thread needs for the most expensive bodies within BODY_BOUNDS.
 * It tries each heap limit in a separate process, because a thread that runs out of heap may end the whole process.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OperationId } from '@countersign/core/contract/operations';
import { BODY_BOUNDS } from '../packages/server/src/http/body-bounds.ts';
import { BodyPreparer } from '../packages/server/src/http/body-preparer.ts';

const LIMITS_MB = [64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 2048];
/** The number of bodies that are prepared one after another. Garbage of one body adds to the heap of the next. */
const REPEATS = 3;
/** The maximum bytes of a body, slightly below the server's default limits. */
const BYTES_MAX = { report: 20_000_000, record: 1_000_000 };

type Kind = keyof typeof BYTES_MAX;
type Shape = (kind: Kind) => string;

/**
 * A JSON list with almost as many items as `BODY_BOUNDS` and `BYTES_MAX` allow.
 * @param countedPerItem the number of values that the server counts for an item.
 */
const listOfItems = (kind: Kind, countedPerItem: number, item: (index: number) => string): string => {
  const items: string[] = [];
  let bytes = 0;
  for (let index = 0; index < (BODY_BOUNDS[kind].valuesMax - 2_000) / countedPerItem; index += 1) {
    const next = item(index);
    bytes += Buffer.byteLength(next) + 1;
    if (bytes > BYTES_MAX[kind] - 100) break;
    items.push(next);
  }
  return `[${items.join()}]`;
};

/** An object with the first `size` letters as names, in random order. V8 has a separate object layout for each order. */
function shuffledObject(size: number): string {
  const names = Array.from({ length: size }, (_, index) => String.fromCharCode(97 + index));
  for (let at = size - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [names[at], names[other]] = [names[other]!, names[at]!];
  }
  return `{${names.map((name) => `"${name}":1`).join()}}`;
}

const objectWithNames = (kind: Kind, from: number, size: number): string =>
  `{${Array.from({ length: size }, (_, index) => `"${((from + index) % (BODY_BOUNDS[kind].namesMax - 100)).toString(36)}_":1`).join()}}`;

const shapes: Record<string, Shape> = {
  'empty objects': (kind) => listOfItems(kind, 2, () => '{}'),
  'lists of one number': (kind) => listOfItems(kind, 2, () => '[1]'),
  'floats in one list': (kind) => listOfItems(kind, 1, (index) => `0.${(index % 1e6) + 1e6}`),
  'floats as members': (kind) => listOfItems(kind, 2, () => '{"a":0.5}'),
  'short strings': (kind) => listOfItems(kind, 1, (index) => JSON.stringify(index.toString(36))),
  'long strings of two-byte characters': (kind) => listOfItems(kind, 1, (index) => `"${index}${'\u0416'.repeat(1000)}"`),
  'indices as names': (kind) => listOfItems(kind, 2, () => '{"15":1}'),
  'sparse indices as names': (kind) => listOfItems(kind, 2, () => '{"1000":1}'),
  'shuffled names, 4': (kind) => listOfItems(kind, 5, () => shuffledObject(4)),
  'shuffled names, 8': (kind) => listOfItems(kind, 9, () => shuffledObject(8)),
  'shuffled names, 25': (kind) => listOfItems(kind, 26, () => shuffledObject(25)),
  'different names in one object': (kind) => objectWithNames(kind, 0, BODY_BOUNDS[kind].namesMax - 200),
  'different names, one each': (kind) => listOfItems(kind, 2, (index) => objectWithNames(kind, index, 1)),
  'different names, 20 each': (kind) => listOfItems(kind, 21, (index) => objectWithNames(kind, index * 20, 20)),
  'different names, 1,100 each': (kind) => listOfItems(kind, 1101, (index) => objectWithNames(kind, index * 1100, 1100)),
  'nested lists': (kind) => nest(kind, '[', ']'),
  'nested objects': (kind) => nest(kind, '{"a":', '}'),
};

function nest(kind: Kind, open: string, close: string): string {
  const levels = Math.floor(Math.min(BODY_BOUNDS[kind].valuesMax - 20, (BYTES_MAX[kind] - 200) / (open.length + close.length)));
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}

const bodyOf = (kind: Kind, shape: string): [OperationId, string] =>
  kind === 'report'
    ? ['ingestTrace', `{"trace_id":"a","metadata":{"v":${shapes[shape]!(kind)}}}`]
    : ['appendAuditEntry', `{"actor":"a","action":"b","metadata":{"v":${shapes[shape]!(kind)}}}`];

/**
 * Runs in the child process: a worker with this heap limit prepares several bodies. Succeeds if the worker accepts all of them, or rejects
 * all of them as too deep. Throws otherwise.
 */
async function tryLimit(kind: Kind, shape: string, heapMb: number): Promise<void> {
  const preparer = new BodyPreparer({ heapMb });
  const principal = { tenantId: 't', keyId: 'k', prefix: 'p', scopes: [] };
  const codes = new Set<string>();
  let slowestMs = 0;
  let bytes = 0;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const [operation, text] = bodyOf(kind, shape);
    bytes = Buffer.byteLength(text);
    const startedAt = performance.now();
    const code = await preparer
      .prepare(operation, { principal, document: Buffer.from(text), idempotencyKey: undefined, prefersAttestation: false })
      .then(
        () => 'accepted',
        (error: { code?: string; issues?: { code: string }[] }) => error.issues?.[0]?.code ?? error.code ?? 'failed',
      );
    codes.add(code);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
  }
  await preparer.close();
  const [outcome] = codes;
  if (codes.size !== 1 || (outcome !== 'accepted' && outcome !== 'too_deep')) throw new Error([...codes].join());
  console.log(`${outcome}, ${Math.round(slowestMs)} ms, ${bytes} bytes`);
}

/** Runs this program again with these arguments. Returns whether it succeeded, and what it printed. */
function runInChildProcess(...args: string[]): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.on('exit', (code) => resolve({ ok: code === 0, output: output.trim() }));
  });
}

async function measure(kind: Kind, shape: string): Promise<void> {
  for (const heapMb of LIMITS_MB) {
    const { ok, output } = await runInChildProcess(kind, shape, String(heapMb));
    if (ok) return console.log(`${kind} | ${shape} | ${heapMb} MB | ${output}`);
  }
  console.log(`${kind} | ${shape} | more than ${LIMITS_MB.at(-1)} MB`);
}

const [kind, shape, heapMb] = process.argv.slice(2) as [Kind?, string?, string?];
if (kind !== undefined && heapMb !== undefined) await tryLimit(kind, shape!, Number(heapMb));
else {
  const kinds: readonly Kind[] = kind === undefined ? ['report', 'record'] : [kind];
  for (const each of kinds) for (const name of shape === undefined ? Object.keys(shapes) : [shape]) await measure(each, name);
}
