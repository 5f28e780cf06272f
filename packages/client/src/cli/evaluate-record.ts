import { importDeepEval } from '../importers/deepeval.ts';
import { harnessIdOf } from '../importers/harness-id.ts';
import { ImportError, type ImportedEvaluation } from '../importers/imported-evaluation.ts';
import { importInspect } from '../importers/inspect.ts';
import { importJUnit } from '../importers/junit.ts';
import { importPromptfoo } from '../importers/promptfoo.ts';
import type { DetailedEvaluation, Evaluation } from '../index.ts';
import { command } from './command.ts';
import { wrongUse } from './exit-codes.ts';
import { readFile } from './files.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import { readLabel, readMoment, readOneOf, readPercentage, readUuid } from './readings.ts';

const FILES = ['promptfoo', 'inspect', 'deepeval', 'junit'] as const;

const OPTIONS = {
  agent: { type: 'string', value: 'NAME', help: 'name of the agent that was evaluated; an unknown one is registered' },
  'agent-id': { type: 'string', value: 'UUID', help: 'its id, instead of the name or besides it' },
  promptfoo: { type: 'string', value: 'FILE', help: 'take the result from the JSON output of promptfoo' },
  inspect: { type: 'string', value: 'FILE', help: 'take it from a log of Inspect AI, .eval or .json' },
  deepeval: { type: 'string', value: 'FILE', help: 'take it from a test run of DeepEval' },
  junit: { type: 'string', value: 'FILE', help: 'take it from a JUnit XML report' },
  metric: {
    type: 'string',
    value: 'METRIC',
    help: 'with --inspect: the metric that is the pass rate, METRIC or SCORER/METRIC (accuracy)',
  },
  'ignore-skipped': { type: 'boolean', help: 'with --junit: leave skipped cases out instead of counting them as not passed' },
  name: { type: 'string', value: 'NAME', help: 'name of the evaluation; of a file, its own otherwise' },
  'pass-rate': { type: 'string', value: 'PERCENT', help: 'share of passed cases; without a file' },
  status: { type: 'string', value: 'STATUS', help: 'scheduled, running, passing or failing; without a file (passing)' },
  harness: { type: 'string', value: 'NAME', help: 'name or UUID of the harness; of a file, the tool otherwise' },
  category: { type: 'string', value: 'TEXT', help: 'free-text category' },
  notes: { type: 'string', value: 'TEXT', help: 'for people' },
  'evaluated-at': {
    type: 'string',
    value: 'TIME',
    help: 'when it was run, such as 2026-11-20T09:30:00Z: its age counts from then',
  },
  suite: { type: 'string', value: 'NAME', help: 'name of the suite of cases' },
  artifact: { type: 'string', value: 'DIGEST', help: 'digest of what was evaluated: sha256:…, sha512:… or gitCommit:…' },
  'run-url': { type: 'string', value: 'URL', help: 'where the run can be looked at' },
  partial: { type: 'boolean', help: 'not all cases of the suite were run' },
  'idempotency-key': {
    type: 'string',
    value: 'KEY',
    help: 'the same key with the same result stores nothing twice for 24 hours',
  },
  ...CONNECTION,
} as const satisfies Options;

type Given = Partial<Record<keyof typeof OPTIONS, string | boolean | undefined>>;

/** `evaluate record`: how an agent was evaluated, from flags or from a tool's results. */
export const evaluateRecord = command({
  name: 'evaluate record',
  summary: "Record how an agent was evaluated, from options or from an evaluation tool's results file.",
  options: OPTIONS,
  examples: [
    'countersign evaluate record --agent support-bot --promptfoo results.json',
    'countersign evaluate record --agent support-bot --inspect logs/2026-11-20T09-20-11_refunds.eval',
    'countersign evaluate record --agent support-bot --deepeval .deepeval/.latest_run_full.json',
    'countersign evaluate record --agent support-bot --junit report.xml',
    'countersign evaluate record --agent support-bot --name nightly --pass-rate 92.5 --evaluated-at 2026-11-20T09:30:00Z',
  ],
  notes: `What of a file is unknown counts as not passed: cases in error, skipped or without a verdict. A file that is empty, holds no cases or
contradicts itself is refused (2), and nothing is recorded.`,
  async run(session, values) {
    const evaluation = evaluationOf(values as Given);
    const details = detailsOf(values as Given);
    const client = await session.client(values);
    const idempotencyKey = values['idempotency-key'];
    const options = idempotencyKey === undefined ? {} : { idempotencyKey };
    // Without details the public endpoint is enough, which servers of every version have.
    const { id } = await (Object.keys(details).length === 0
      ? client.evaluations.record(evaluation, options)
      : client.evaluations.recordDetailed({ ...evaluation, ...details }, options));
    const rate = evaluation.pass_rate == null ? 'no pass rate' : `${evaluation.pass_rate} %`;
    session.answer({ id, ...evaluation, ...details }, [id]);
    session.say(
      `recorded: ${shortLine(evaluation.name, 100)}, ${evaluation.status}, ${rate}. ${shortLine(evaluation.notes ?? '', 300)}`.trim(),
    );
    return 'ok';
  },
});

function evaluationOf(given: Given): Evaluation {
  const text = (name: keyof typeof OPTIONS) => given[name] as string | undefined;
  const imported = importedFrom(given);
  const [agent, agentId, category, harness] = [
    text('agent'),
    text('agent-id'),
    text('category') ?? imported?.category,
    text('harness') ?? imported?.tool,
  ];
  if (agent === undefined && agentId === undefined)
    throw wrongUse('which agent? Give --agent NAME or --agent-id UUID: without it the evaluation counts for none');
  return {
    ...(agent === undefined ? {} : { agent_name: readLabel('--agent', agent) }),
    ...(agentId === undefined ? {} : { agent_id: readUuid('--agent-id', agentId) }),
    ...(imported === undefined
      ? fromFlags(given)
      : { name: imported.name, status: imported.status, pass_rate: imported.pass_rate }),
    ...(text('name') === undefined ? {} : { name: readLabel('--name', text('name')!) }),
    ...(harness === undefined ? {} : { harness_id: harnessIdOf(readLabel('--harness', harness)) }),
    ...(category === undefined ? {} : { category: readLabel('--category', category) }),
    ...notesOf(imported, text('notes')),
  } as Evaluation;
}

/** What only POST /api/v1/evaluations takes. */
function detailsOf(given: Given): Partial<DetailedEvaluation> {
  const text = (name: keyof typeof OPTIONS) => given[name] as string | undefined;
  const [at, suite, artifact, runUrl] = [text('evaluated-at'), text('suite'), text('artifact'), text('run-url')];
  return {
    ...(at === undefined ? {} : { evaluated_at: readMoment('--evaluated-at', at) }),
    ...(suite === undefined ? {} : { suite: { name: readLabel('--suite', suite) } }),
    ...(artifact === undefined ? {} : { artifact }),
    ...(runUrl === undefined ? {} : { run_url: runUrl }),
    ...(given.partial === true ? { partial: true } : {}),
  };
}

/** The result of the one file given; undefined when none is. */
function importedFrom(given: Given): ImportedEvaluation | undefined {
  const files = FILES.filter((name) => given[name] !== undefined);
  const [kind] = files;
  if (kind === undefined) return undefined;
  if (files.length > 1) throw wrongUse(`give one results file, not --${files.join(' and --')}`);
  for (const name of ['pass-rate', 'status'] as const)
    if (given[name] !== undefined) throw wrongUse(`--${name} and --${kind} contradict each other: the file says it`);
  const path = given[kind] as string;
  try {
    return importFile(kind, readFile(path), given);
  } catch (error) {
    if (error instanceof ImportError) throw wrongUse(`${JSON.stringify(path)}: ${error.message}`, error);
    throw error;
  }
}

function importFile(kind: (typeof FILES)[number], bytes: Uint8Array, given: Given): ImportedEvaluation {
  switch (kind) {
    case 'promptfoo':
      return importPromptfoo(bytes);
    case 'inspect':
      return importInspect(bytes, { metric: given.metric as string | undefined });
    case 'deepeval':
      return importDeepEval(bytes);
    case 'junit':
      return importJUnit(bytes, { ignoreSkipped: given['ignore-skipped'] === true });
  }
}

function fromFlags({ name, status = 'passing', 'pass-rate': passRate }: Given): Pick<Evaluation, 'status' | 'pass_rate'> {
  if (name === undefined) throw wrongUse('which evaluation? Give --name NAME, or a results file');
  const read = readOneOf('--status', status as string, ['scheduled', 'running', 'passing', 'failing']);
  if (passRate === undefined && read === 'passing')
    throw wrongUse('a passing evaluation needs --pass-rate: without it no gate would let it pass');
  return { status: read, ...(passRate === undefined ? {} : { pass_rate: readPercentage('--pass-rate', passRate as string) }) };
}

function notesOf(imported: ImportedEvaluation | undefined, given: string | undefined): { notes?: string } {
  const notes = [given, imported?.notes].filter((each) => each !== undefined).join('\n');
  return notes === '' ? {} : { notes };
}
