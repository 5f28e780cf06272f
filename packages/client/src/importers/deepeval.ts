import { checkedCounts, ImportError, type ImportedEvaluation, labelOf, passRateOf, sentenceOf } from './imported-evaluation.ts';
import { isObject, type Members, memberOf, notThisFormat, objectOf } from './parse-results.ts';

/**
 * Reads a test run of DeepEval (https://deepeval.com/docs/evaluation-flags-and-configs#saving-test-runs-locally): `test_run_*.json` of a
 * results folder, `.deepeval/.latest_run_full.json`, or `.deepeval/.latest_test_run.json`, which wraps it. A case without a verdict
 * (its metrics failed to run, or all of them are flaky) is one that did not pass.
 * @throws ImportError when it is no such file, holds no cases, or its totals and its cases say different things.
 */
export function importDeepEval(bytes: Uint8Array): ImportedEvaluation {
  const file = objectOf('deepeval', bytes);
  const run = isObject(file.testRunData) ? file.testRunData : file;
  const cases = [...casesOf(run, 'testCases'), ...casesOf(run, 'conversationalTestCases')];
  if (!Array.isArray(run.testCases) && !Array.isArray(run.conversationalTestCases))
    throw notThisFormat('deepeval', 'it has neither testCases nor conversationalTestCases');
  const withVerdict = (verdict: unknown) => cases.filter((each) => memberOf(each, 'success') === verdict).length;
  const [passed, failed] = [withVerdict(true), withVerdict(false)];
  const counts = checkedCounts('deepeval', { total: cases.length, passed });
  holdAgainst(run, passed, failed);
  return {
    tool: 'deepeval',
    name: labelOf(run.identifier, run.datasetAlias, run.testFile) ?? 'deepeval',
    status: passed > 0 ? 'passing' : 'failing',
    pass_rate: passRateOf(counts),
    notes: `DeepEval: ${sentenceOf(counts, { failed, 'without a verdict': counts.total - passed - failed })}.${metricsOf(run)}`,
    counts,
  };
}

function casesOf(run: Members, member: string): unknown[] {
  const cases = run[member];
  return Array.isArray(cases) ? cases : [];
}

function holdAgainst({ testPassed = null, testFailed = null }: Members, passed: number, failed: number): void {
  const agrees = (said: unknown, counted: number) => said === null || said === counted;
  if (agrees(testPassed, passed) && agrees(testFailed, failed)) return;
  throw new ImportError(
    'contradictory',
    `the file says ${testPassed} passed and ${testFailed} failed, but its cases are ${passed} passed and ${failed} failed`,
  );
}

/** Which metrics judged, with how many passes: what a reader of the record asks first. */
function metricsOf({ metricsScores }: Members): string {
  if (!Array.isArray(metricsScores)) return '';
  const lines = metricsScores.flatMap((each) => {
    const name = labelOf(memberOf(each, 'metric'));
    const [passes, fails, errors] = ['passes', 'fails', 'errors'].map((member) => memberOf(each, member));
    return name === undefined ? [] : [`${name} ${passes} passed, ${fails} failed, ${errors} in error`];
  });
  return lines.length === 0 ? '' : ` Metrics: ${lines.slice(0, 20).join('; ')}.`;
}
