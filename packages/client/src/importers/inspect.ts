import {
  checkCounts,
  type ImportChoice,
  ImportError,
  type ImportedEvaluation,
  labelOf,
  requireWhole,
} from './imported-evaluation.ts';
import { epochsOf, inspectCompleteness } from './inspect-completeness.ts';
import { chooseMetric, coverageOf, type MetricChoice, withSamples } from './inspect-metric.ts';
import { archivedReductions } from './inspect-reductions.ts';
import { provenPasses, samplesOf } from './inspect-samples.ts';
import { runMomentOf } from './moments.ts';
import { isObject, type Members, memberOf, objectOf, wrongFormatError } from './parse-results.ts';
import { readZipEntry } from './zip-entry.ts';

/** The largest header of a log, in bytes. It contains configuration and scores, but no samples. */
const HEADER_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads a log of Inspect AI (https://inspect.aisi.org.uk/eval-logs.html): the JSON form, or the header of the `.eval` archive. The pass
 * rate is `accuracy` if it is the only metric except measures of spread, or the metric that `metric` names. Samples that ended in an
 * error or were not scored count as not passed, although Inspect leaves them out of its metrics.
 * @throws ImportError if the file has another format. For a finished evaluation, also if it has no samples or no clear metric, if its
 * samples contradict its results, or if it is partial without `allowPartial`.
 */
export function importInspect(bytes: Uint8Array, choice: MetricChoice & ImportChoice = {}): ImportedEvaluation {
  const log = objectOf('inspect_ai', isArchive(bytes) ? headerOf(bytes) : bytes);
  const { status, eval: spec, results } = log;
  if (!isObject(spec) || typeof spec.task !== 'string' || !STATUSES.has(status))
    throw wrongFormatError('inspect_ai', 'it has no eval.task, or no known status');
  // Inspect itself reads a time without a time zone as UTC.
  const { at, note } = runMomentOf([memberOf(log.stats, 'started_at'), spec.created], { writesUtc: true });
  const description = {
    tool: 'inspect_ai' as const,
    name: labelOf(spec.task) ?? 'inspect_ai',
    ...categoryOf(log, spec),
    ...(at === undefined ? {} : { evaluated_at: at }),
    ...suiteOfTask(spec),
  };
  const reductions = () => (isArchive(bytes) ? archivedReductions(bytes) : log.reductions);
  const outcome =
    status === 'success' ? finishedOutcome(log, spec, results, reductions, choice) : unfinishedOutcome(status as string);
  return { ...description, ...outcome, notes: `${outcome.notes}${note}` };
}

const STATUSES: ReadonlySet<unknown> = new Set(['started', 'success', 'cancelled', 'error']);

const isArchive = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;

function headerOf(archive: Uint8Array): Uint8Array {
  const header = readZipEntry(archive, 'header.json', HEADER_BYTES_MAX);
  if (header !== undefined) return header;
  throw wrongFormatError(
    'inspect_ai',
    'the archive has no header.json: the run is not finished, or the archive is not from Inspect AI',
  );
}

/** More than the relative error of binary fractions: 0.29 * 100 is 28.999999999999996, which must not be rounded down to 28.9999. */
const ROUNDING_ERROR = 1e-12;

type Outcome = Pick<ImportedEvaluation, 'status' | 'pass_rate' | 'notes' | 'cases' | 'completeness'>;

/** The outcome of an evaluation that did not finish, without a pass rate. */
function unfinishedOutcome(status: string): Outcome {
  return {
    status: status === 'started' ? 'running' : 'failing',
    notes: `Inspect AI: the run is not finished (status ${status}).`,
    completeness: 'partial',
  };
}

function finishedOutcome(
  log: Members,
  spec: Members,
  results: unknown,
  reductions: () => unknown,
  choice: MetricChoice & ImportChoice,
): Outcome {
  if (!isObject(results)) throw new ImportError('no_cases', 'this log of Inspect AI has the status "success" but no results');
  const [total, completed] = [results.total_samples, results.completed_samples] as [number, number];
  checkCounts('inspect_ai', total, completed, 'completed');
  const { completeness, why } = inspectCompleteness(spec, results);
  requireWhole(completeness, why, choice);
  const plannedRuns = { total, completed, epochs: epochsOf(spec) };
  const metric = chooseMetric(results, { ...choice, epochs: plannedRuns.epochs });
  const { covered, passed: countedPasses } = coverageOf(withSamples(metric, plannedRuns, reductions), plannedRuns);
  const passed = provenPasses(log, spec, metric, { total, passed: countedPasses });
  const passRate = Math.floor((passed / total) * 1_000_000 * (1 + ROUNDING_ERROR)) / 10_000;
  const invalidated = log.invalidated === true || samplesOf(log).some((sample) => memberOf(sample, 'invalidation') != null);
  const notes = [`${metric.name} ${metric.value} over ${completed} of ${total} samples`];
  if (completed < total) notes.push('the others count as not passed');
  if (covered < completed) notes.push('samples that were not scored count as not passed');
  if (passed < countedPasses) notes.push('listed samples that were not scored count as not passed');
  if (invalidated) notes.push('samples were invalidated');
  if (log.error != null) notes.push('the log contains an error');
  if (completeness === 'partial') notes.push(`partial: ${why}`);
  return {
    status: invalidated || log.error != null || passRate === 0 ? 'failing' : 'passing',
    pass_rate: passRate,
    notes: `Inspect AI: ${notes.join('; ')}. Model ${labelOf(spec.model) ?? 'not named'}.`,
    cases: { total, errored: total - Math.ceil(covered), skipped: 0 },
    completeness,
  };
}

/** The category of a task: from the metadata of the evaluation, or the attributes of the task. */
function categoryOf(log: Members, spec: Members): { category?: string } {
  const category = labelOf(
    memberOf(log.metadata, 'category'),
    memberOf(spec.metadata, 'category'),
    memberOf(spec.task_attribs, 'category'),
  );
  return category === undefined ? {} : { category };
}

function suiteOfTask({ task, task_version: version }: Members): Pick<ImportedEvaluation, 'suite'> {
  const name = labelOf(task);
  const versionLabel = labelOf(typeof version === 'number' ? String(version) : version);
  return name === undefined ? {} : { suite: { name, ...(versionLabel === undefined ? {} : { version: versionLabel }) } };
}
