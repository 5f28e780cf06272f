import {
  checkedCounts,
  ImportError,
  type ImportedEvaluation,
  isCount,
  labelOf,
  passRateOf,
  sentenceOf,
} from './imported-evaluation.ts';
import { isObject, type Members, memberOf, notThisFormat, objectOf } from './parse-results.ts';

/**
 * Reads the JSON output of promptfoo (https://www.promptfoo.dev/docs/configuration/outputs, `OutputFile` with a summary of version 2
 * or 3). Each combination of test, prompt and provider is a case. A case in error is one that did not pass.
 * @throws ImportError when it is no such file, holds no cases, or its statistics and its cases say different things.
 */
export function importPromptfoo(bytes: Uint8Array): ImportedEvaluation {
  const file = objectOf('promptfoo', bytes);
  const { results, config } = file;
  const stats = memberOf(results, 'stats');
  if (!isObject(results) || !isObject(stats)) throw notThisFormat('promptfoo', 'it has no results.stats');
  const said = statistics(stats);
  const counts = checkedCounts('promptfoo', { total: said.successes + said.failures + said.errors, passed: said.successes });
  if (Array.isArray(results.results)) holdAgainst(results.results, counts.total, counts.passed);
  const category = labelOf(
    memberOf(memberOf(config, 'tags'), 'category'),
    isObject(memberOf(config, 'redteam')) ? 'red team' : undefined,
  );
  return {
    tool: 'promptfoo',
    name: labelOf(memberOf(config, 'description'), file.evalId) ?? 'promptfoo',
    ...(category === undefined ? {} : { category }),
    status: counts.passed > 0 ? 'passing' : 'failing',
    pass_rate: passRateOf(counts),
    notes: `promptfoo: ${sentenceOf(counts, { failed: said.failures, 'in error': said.errors })}.${provenance(file, results)}`,
    counts,
  };
}

/** Older versions did not count errors apart: there they are failures. */
function statistics({ successes, failures, errors = 0 }: Members): { successes: number; failures: number; errors: number } {
  if (isCount(successes) && isCount(failures) && isCount(errors)) return { successes, failures, errors };
  throw notThisFormat('promptfoo', 'results.stats has no counts of successes and failures');
}

function holdAgainst(cases: readonly unknown[], total: number, passed: number): void {
  const listed = cases.filter((each) => memberOf(each, 'success') === true).length;
  if (cases.length === total && listed === passed) return;
  throw new ImportError(
    'contradictory',
    `results.stats counts ${passed} of ${total} cases as passed, but results.results lists ${listed} of ${cases.length}: the file was filtered or cut off`,
  );
}

function provenance(file: Members, results: Members): string {
  const said = [
    ['eval', labelOf(file.evalId)],
    ['run at', labelOf(results.timestamp)],
    ['by version', labelOf(memberOf(file.metadata, 'promptfooVersion'))],
  ].filter(([, value]) => value !== undefined);
  return said.length === 0 ? '' : ` ${said.map(([what, value]) => `${what} ${value}`).join(', ')}.`;
}
