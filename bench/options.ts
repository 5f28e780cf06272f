import { parseArgs } from 'node:util';

/** The parts that can be measured, in the order in which they run by default. */
export const PARTS = [
  'traces',
  'otlp',
  'telemetry',
  'audit',
  'promotion',
  'latency',
  'bare',
  'large-bodies',
  'client',
  'gate',
  'trees',
  'proof',
  'verify',
  'stored',
  'memory',
  'disk',
  'retention',
] as const;
export type Part = (typeof PARTS)[number];

/** The parts that can be compared with another checkout. */
export const COMPARED_PARTS = ['traces', 'otlp', 'telemetry', 'audit', 'promotion'] as const satisfies readonly Part[];

/** The options of the command. */
export interface Options {
  only: readonly Part[];
  /** The number of rounds of a measurement. */
  rounds: number;
  /** The duration of each side of a round: the work and its limit. */
  seconds: number;
  /** The number of rows in the largest tables before the part `stored` is measured. */
  rows: number;
  /** The number of rows of the ledger for `verify` and `proof`. */
  verifyRows: number;
  /** The duration of the load for `memory`. */
  memorySeconds: number;
  /** A file of recorded runs for `disk` and `retention`, in the format of examples/tau-bench. Undefined: the sample file there. */
  runs: string | undefined;
  /** Whether the measured server writes CPU profiles into bench/output. */
  writesProfile: boolean;
  /** The folder of another checkout. If set, each row compares the servers of both checkouts, instead of one server with a limit. */
  against: string | undefined;
  /** How many servers of each checkout share its database, with `against`. */
  servers: number;
  /** Whether the result is written into bench/results, to be committed. */
  keepsResult: boolean;
  /** Whether each row is compared with its newest kept result. */
  comparesWithKept: boolean;
}

export const HELP = `npm run bench -- [options]   (defaults in parentheses)
  --only ${PARTS.join(',')}
                        what to measure (all)
  --rounds N            rounds; each round measures the work once and its limit once (5)
  --seconds N           seconds of each measurement of a round (4)
  --rows N              rows stored beforehand for "stored" (1000000)
  --verify-rows N       rows of the ledger for "verify" and "proof" (1000000)
  --memory-seconds N    seconds of mixed load for "memory" (60)
  --runs FILE           recorded runs for "disk" and "retention", in the format of examples/tau-bench (sample-runs.json there)
  --against FOLDER      compare with the server of another checkout whose packages are installed; --only takes
                        ${COMPARED_PARTS.join(',')} (all five)
  --servers N           with --against: how many servers of each checkout share its database (1)
  --compare             print each row beside its newest result in bench/results from the same kind of machine
  --keep                write the result into bench/results, to be committed
  --profile             write CPU profiles of the server into bench/output
`;

/** Reads the command line. Returns `help` for --help. Throws an error if an option is wrong. */
export function readOptions(args: string[]): Options | 'help' {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      only: { type: 'string' },
      rounds: text('5'),
      seconds: text('4'),
      rows: text('1000000'),
      'verify-rows': text('1000000'),
      'memory-seconds': text('60'),
      runs: { type: 'string' },
      against: { type: 'string' },
      servers: text('1'),
      profile: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      compare: { type: 'boolean', default: false },
    },
  });
  if (values.help === true) return 'help';
  if (values.against !== undefined && (values.keep || values.compare))
    throw new Error('--against cannot be combined with --keep or --compare');
  if (values.against === undefined && values.servers !== '1') throw new Error('--servers works only with --against');
  const possible: readonly Part[] = values.against === undefined ? PARTS : COMPARED_PARTS;
  return {
    only: values.only?.split(',').map((name) => parsePart(name, possible)) ?? possible,
    rounds: positiveNumber('--rounds', values.rounds),
    seconds: positiveNumber('--seconds', values.seconds),
    rows: positiveNumber('--rows', values.rows),
    verifyRows: positiveNumber('--verify-rows', values['verify-rows']),
    memorySeconds: positiveNumber('--memory-seconds', values['memory-seconds']),
    writesProfile: values.profile,
    keepsResult: values.keep,
    comparesWithKept: values.compare,
    runs: values.runs,
    against: values.against,
    servers: positiveNumber('--servers', values.servers),
  };
}

/** @throws if the part is not one of `possible`: with --against, only some parts can be measured. */
function parsePart(name: string, possible: readonly Part[]): Part {
  const found = possible.find((each) => each === name);
  if (found !== undefined) return found;
  const option = possible === PARTS ? '--only' : '--only with --against';
  throw new Error(`${option} takes ${possible.join(', ')}; got ${JSON.stringify(name)}`);
}

function positiveNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0)
    throw new Error(`${name} must be a whole number above 0, got ${JSON.stringify(text)}`);
  return Number(text);
}
