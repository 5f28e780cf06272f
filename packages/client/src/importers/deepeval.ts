import {
  checkCounts,
  ImportError,
  type ImportedEvaluation,
  isCount,
  labelOf,
  passRateOf,
  sentenceOf,
} from './imported-evaluation.ts';
import { isObject, type Members, memberOf, objectOf, wrongFormatError } from './parse-results.ts';

/**
 * Reads a test run of DeepEval (https://deepeval.com/docs/evaluation-flags-and-configs#saving-test-runs-locally): `test_run_*.json` of a
 * results folder, `.deepeval/.latest_run_full.json`, or `.deepeval/.latest_test_run.json`, in which the run is a member. A case without
 * a verdict (its metrics failed to run, or all of them are flaky) counts as not passed. The file contains neither the time of the run
 * nor whether all cases ran.
 * @throws ImportError if the file has another format, has no cases, or counts cases and lists none.
 */
export function importDeepEval(bytes: Uint8Array): ImportedEvaluation {
  const file = objectOf('deepeval', bytes);
  const run = isObject(file.testRunData) ? file.testRunData : file;
  const cases = [...casesOf(run, 'testCases'), ...casesOf(run, 'conversationalTestCases')];
  if (!Array.isArray(run.testCases) && !Array.isArray(run.conversationalTestCases))
    throw wrongFormatError('deepeval', 'it has neither testCases nor conversationalTestCases');
  const { total, passed, failed, undecided } = worseOf(run, cases);
  checkCounts('deepeval', total, passed);
  const suite = labelOf(run.datasetAlias, run.testFile);
  const version = labelOf(run.datasetVersion);
  return {
    tool: 'deepeval',
    name: labelOf(run.identifier, run.datasetAlias, run.testFile) ?? 'deepeval',
    status: passed > 0 ? 'passing' : 'failing',
    pass_rate: passRateOf({ passed, total }),
    notes:
      `DeepEval: ${sentenceOf(passed, total, { failed, 'without a verdict': undecided })}.${metricsOf(run)} ` +
      `The file contains no time of the run.`,
    cases: { total, passed, failed, errored: undecided, skipped: 0 },
    completeness: 'unknown',
    ...(suite === undefined ? {} : { suite: { name: suite, ...(version === undefined ? {} : { version }) } }),
  };
}

function casesOf(run: Members, member: string): unknown[] {
  const cases = run[member];
  return Array.isArray(cases) ? cases : [];
}

/**
 * The worse of the totals and the cases: the larger number of cases, and the smaller number of passed ones. A case passed if
 * its member `success` is true and all its metrics passed, except flaky ones.
 */
function worseOf(run: Members, cases: readonly unknown[]) {
  const [testPassed, testFailed] = [totalOf(run, 'testPassed'), totalOf(run, 'testFailed')];
  if (cases.length === 0 && ((testPassed ?? 0) > 0 || (testFailed ?? 0) > 0))
    throw new ImportError('contradictory', 'the file counts test cases and lists none: it was filtered or cut off');
  const listedPassed = cases.filter(
    (each) => memberOf(each, 'success') === true && havePassed(memberOf(each, 'metricsData')),
  ).length;
  const failed = cases.filter((each) => memberOf(each, 'success') === false).length;
  const [reportedPassed, reportedFailed] = [testPassed ?? listedPassed, testFailed ?? failed];
  const total = Math.max(cases.length, reportedPassed + reportedFailed);
  const passed = Math.min(reportedPassed, listedPassed, total - reportedFailed);
  return { total, passed, failed, undecided: total - passed - failed };
}

/** A total of a run; undefined if it has none. */
function totalOf(run: Members, name: 'testPassed' | 'testFailed'): number | undefined {
  const value = run[name] ?? undefined;
  if (value === undefined || isCount(value)) return value;
  throw wrongFormatError('deepeval', `${name} is not a count`);
}

/** Whether all metrics passed. Flaky metrics do not count. A metric without `success` passed if it has no `error`. */
const havePassed = (metrics: unknown): boolean =>
  !Array.isArray(metrics) ||
  metrics.every((each) => {
    const success = memberOf(each, 'success') ?? memberOf(each, 'error') === undefined;
    return memberOf(each, 'flaky') === true || success === true;
  });

/** The metrics and their counts, for the notes. */
function metricsOf({ metricsScores }: Members): string {
  if (!Array.isArray(metricsScores)) return '';
  const lines = metricsScores.flatMap((each) => {
    const name = labelOf(memberOf(each, 'metric'));
    const [passes, fails, errors] = ['passes', 'fails', 'errors'].map((member) => memberOf(each, member));
    return name === undefined ? [] : [`${name} ${passes} passed, ${fails} failed, ${errors} in error`];
  });
  return lines.length === 0 ? '' : ` Metrics: ${lines.slice(0, 20).join('; ')}.`;
}
