import { harnessIdOf } from '../importers/harness-id.ts';
import { type CallOptions, type Countersign, type DetailedEvaluation, type Evaluation, NotFoundError } from '../index.ts';
import { command } from './command.ts';
import { isContentRejection } from './content-rejection.ts';
import { CommandError, wrongUse } from './exit-codes.ts';
import { idempotencyOf, readLabel, readMoment, readOneOf, readPercentage, readUuid } from './option-values.ts';
import { CONNECTION, type Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import { recordIdOf } from './record-id.ts';
import { type ResultsFile, readResultsFile, rejection } from './results-file.ts';
import { ciRunUrl } from './run-url.ts';
import type { Session } from './session.ts';

const OPTIONS = {
  agent: { type: 'string', value: 'NAME', help: 'name of the evaluated agent; a new name is registered' },
  'agent-id': { type: 'string', value: 'UUID', help: 'ID of the agent, instead of the name or together with it' },
  promptfoo: { type: 'string', value: 'FILE', help: 'read the result from the JSON output of promptfoo' },
  inspect: { type: 'string', value: 'FILE', help: 'read the result from a log of Inspect AI, .eval or .json' },
  deepeval: { type: 'string', value: 'FILE', help: 'read the result from a test run of DeepEval' },
  junit: { type: 'string', value: 'FILE', help: 'read the result from a JUnit XML report' },
  metric: {
    type: 'string',
    value: 'METRIC',
    help: 'with --inspect: the metric that is the pass rate: METRIC, SCORER/METRIC or SCORER@REDUCER/METRIC (default: accuracy)',
  },
  'ignore-skipped': { type: 'boolean', help: 'with --junit: leave skipped cases out instead of counting them as not passed' },
  name: { type: 'string', value: 'NAME', help: 'name of the evaluation (default with a file: from the file)' },
  'pass-rate': { type: 'string', value: 'PERCENT', help: 'share of passed cases; only without a file' },
  status: {
    type: 'string',
    value: 'STATUS',
    help: 'scheduled, running, passing or failing; only without a file (default: passing)',
  },
  harness: { type: 'string', value: 'NAME', help: 'name or UUID of the harness (default with a file: the tool)' },
  category: { type: 'string', value: 'TEXT', help: 'free-text category' },
  notes: { type: 'string', value: 'TEXT', help: 'free-text notes' },
  'evaluated-at': {
    type: 'string',
    value: 'TIME',
    help: 'when the evaluation ran, such as 2026-11-20T09:30:00Z; its age is measured from this time',
  },
  suite: { type: 'string', value: 'NAME', help: 'name of the suite of cases; the gate does not check it' },
  artifact: {
    type: 'string',
    value: 'DIGEST',
    help: 'digest of the evaluated artifact: sha256:…, sha512:… or gitCommit:…; the gate does not check it',
  },
  'run-url': { type: 'string', value: 'URL', help: 'address of the run in the CI system' },
  partial: { type: 'boolean', help: 'record that only a part of the suite ran; the gate does not check it' },
  'allow-partial': {
    type: 'boolean',
    help: 'with a results file: accept a partial evaluation, and record it as partial',
  },
  'idempotency-key': {
    type: 'string',
    value: 'KEY',
    help: 'a retry with the same key and result within 24 hours is not stored again; choose a key that others cannot guess',
  },
  ...CONNECTION,
} as const satisfies Options;

type EvaluationOptions = Partial<Record<keyof typeof OPTIONS, string | boolean | undefined>>;

/** `evaluate record`: records an evaluation from options or from the results file of a tool. */
export const evaluateRecord = command({
  name: 'evaluate record',
  summary: 'Record an evaluation of an agent, from options or from the results file of a tool.',
  options: OPTIONS,
  examples: [
    'countersign evaluate record --agent support-bot --promptfoo results.json',
    'countersign evaluate record --agent support-bot --inspect logs/2026-11-20T09-20-11_refunds.eval',
    'countersign evaluate record --agent support-bot --deepeval .deepeval/.latest_run_full.json',
    'countersign evaluate record --agent support-bot --junit report.xml',
    'countersign evaluate record --agent support-bot --name nightly --pass-rate 92.5 --evaluated-at 2026-11-20T09:30:00Z',
  ],
  notes: `Cases in error and cases without a verdict count as not passed, and so do skipped cases without --ignore-skipped. If totals and
cases contradict each other, the worse value counts. A file that is empty or has no cases is rejected with exit code 2,
and so is a finished but partial evaluation without --allow-partial or --partial. After a rejection nothing is recorded,
and the previous evaluation still counts. With a file, the address of the CI run comes from the variables of GitHub Actions
and GitLab CI.`,
  async run(session, values) {
    const options = values as EvaluationOptions;
    const file = readResultsFile(options as Parameters<typeof readResultsFile>[0]);
    const evaluation = evaluationOf(options, file);
    const details = { ...detailsOfFile(session, file), ...detailsOf(options) };
    const callOptions = idempotencyOf(values['idempotency-key']);
    const client = await session.client(values);
    const recorded = await sendEvaluation(client, evaluation, details, callOptions).catch((error: unknown) => {
      throw withExplanation(options, file, details, error);
    });
    const rate = typeof recorded.pass_rate === 'number' ? `${recorded.pass_rate} %` : 'no pass rate';
    session.writeResult({ ...evaluation, ...details, ...recorded }, [recorded.id]);
    session.say(
      `recorded: ${shortLine(evaluation.name, 100)}, ${evaluation.status}, ${rate}. ${shortLine(evaluation.notes ?? '', 800)}`.trim(),
    );
    return 'ok';
  },
});

/** Records the evaluation. Without details it uses the public endpoint, which servers of every version have. */
async function sendEvaluation(
  client: Countersign,
  evaluation: Evaluation,
  details: Partial<DetailedEvaluation>,
  callOptions: CallOptions,
) {
  const response = hasDetails(details)
    ? await client.evaluations.recordDetailed({ ...evaluation, ...details }, callOptions)
    : { ...(await client.evaluations.record(evaluation, callOptions)), pass_rate: evaluation.pass_rate };
  const { pass_rate } = response;
  return { id: recordIdOf(response, 'id'), ...(pass_rate === undefined ? {} : { pass_rate }) };
}

const hasDetails = (details: Partial<DetailedEvaluation>): boolean => Object.keys(details).length > 0;

/**
 * If the endpoint for details is missing, or the server rejected the results of a file, returns another error. It says that nothing was
 * recorded, and what to do. Returns all other errors unchanged.
 */
function withExplanation(
  options: EvaluationOptions,
  file: ResultsFile | undefined,
  details: Partial<DetailedEvaluation>,
  error: unknown,
): unknown {
  if (error instanceof NotFoundError && hasDetails(details))
    return new CommandError(
      'undecided',
      'the service at this address does not have POST /api/v1/evaluations, so nothing was recorded: check the address, ' +
        'update an older server, or record without a file and without details, with --name and --pass-rate',
      { cause: error },
    );
  if (file === undefined || !(error instanceof Error) || !isContentRejection(error)) return error;
  return rejection(options as Parameters<typeof rejection>[0], error.message, error);
}

function evaluationOf(options: EvaluationOptions, file: ResultsFile | undefined): Evaluation {
  const text = (name: keyof typeof OPTIONS) => options[name] as string | undefined;
  const [agent, agentId, category, harness] = [
    text('agent'),
    text('agent-id'),
    text('category') ?? file?.category,
    text('harness') ?? file?.tool,
  ];
  if (agent === undefined && agentId === undefined) throw wrongUse('no agent given: add --agent NAME or --agent-id UUID');
  return {
    ...(agent === undefined ? {} : { agent_name: readLabel('--agent', agent) }),
    ...(agentId === undefined ? {} : { agent_id: readUuid('--agent-id', agentId) }),
    ...(file === undefined ? outcomeOf(options) : { name: file.name, status: file.status, pass_rate: file.pass_rate }),
    ...(text('name') === undefined ? {} : { name: readLabel('--name', text('name')!) }),
    ...(harness === undefined ? {} : { harness_id: harnessIdOf(readLabel('--harness', harness)) }),
    ...(category === undefined ? {} : { category: readLabel('--category', category) }),
    ...notesOf(file, text('notes')),
  } as Evaluation;
}

/** The details from a results file and the CI system. The public endpoint does not accept details. */
function detailsOfFile(session: Session, file: ResultsFile | undefined): Partial<DetailedEvaluation> {
  if (file === undefined) return {};
  const { cases, skipped_excluded, evaluated_at, completeness, suite, sha256 } = file;
  const runUrl = ciRunUrl(session);
  return {
    ...(cases === undefined ? {} : { cases }),
    ...(skipped_excluded === undefined ? {} : { skipped_excluded }),
    ...(evaluated_at === undefined ? {} : { evaluated_at }),
    completeness,
    ...(suite === undefined ? {} : { suite }),
    results_sha256: sha256,
    ...(runUrl === undefined ? {} : { run_url: runUrl }),
  };
}

/** The details from options. They override the details from a file. */
function detailsOf(options: EvaluationOptions): Partial<DetailedEvaluation> {
  const text = (name: keyof typeof OPTIONS) => options[name] as string | undefined;
  const [evaluatedAt, suite, artifact, runUrl] = [text('evaluated-at'), text('suite'), text('artifact'), text('run-url')];
  return {
    ...(evaluatedAt === undefined ? {} : { evaluated_at: readMoment('--evaluated-at', evaluatedAt) }),
    ...(suite === undefined ? {} : { suite: { name: readLabel('--suite', suite) } }),
    ...(artifact === undefined ? {} : { artifact }),
    ...(runUrl === undefined ? {} : { run_url: runUrl }),
    ...(options.partial === true ? { completeness: 'partial' } : {}),
  };
}

function outcomeOf({
  name,
  status = 'passing',
  'pass-rate': passRate,
}: EvaluationOptions): Pick<Evaluation, 'status' | 'pass_rate'> {
  if (name === undefined) throw wrongUse('no evaluation given: add --name NAME or a results file');
  const parsedStatus = readOneOf('--status', status as string, ['scheduled', 'running', 'passing', 'failing']);
  if (passRate === undefined && parsedStatus === 'passing')
    throw wrongUse('a passing evaluation needs --pass-rate: the gate blocks without it');
  return {
    status: parsedStatus,
    ...(passRate === undefined ? {} : { pass_rate: readPercentage('--pass-rate', passRate as string) }),
  };
}

function notesOf(imported: ResultsFile | undefined, optionNotes: string | undefined): { notes?: string } {
  const notes = [optionNotes, imported?.notes].filter((each) => each !== undefined).join('\n');
  return notes === '' ? {} : { notes };
}
