import {
  checkCounts,
  type ImportChoice,
  ImportError,
  type ImportedEvaluation,
  isCount,
  labelOf,
  passRateOf,
  requireWhole,
  sentenceOf,
  suiteOf,
} from './imported-evaluation.ts';
import { runMomentOf } from './moments.ts';
import { isObject, type Members, memberOf, objectOf, wrongFormatError } from './parse-results.ts';
import { isSet, promptfooCompleteness } from './promptfoo-completeness.ts';

/**
 * Reads the JSON output of promptfoo (https://www.promptfoo.dev/docs/configuration/outputs, `OutputFile` with a summary of version 2
 * or 3). Each combination of test, prompt, provider and repeat is a case. A case in error counts as not passed.
 * @throws ImportError if the file has another format, has no cases, lists none of the counted cases, or is partial without `allowPartial`.
 */
export function importPromptfoo(bytes: Uint8Array, choice: ImportChoice = {}): ImportedEvaluation {
  const file = objectOf('promptfoo', bytes);
  const { results, config } = file;
  const stats = memberOf(results, 'stats');
  if (!isObject(results) || !isObject(stats)) throw wrongFormatError('promptfoo', 'it has no results.stats');
  const counts = readStatistics(stats);
  checkCounts('promptfoo', counts.total, counts.passed);
  const { total, passed, failed, errored, doubtful, repeated } = worstOf(counts, promptCounts(results.prompts), results.results);
  const { completeness, why } = promptfooCompleteness(file, total - repeated);
  requireWhole(completeness, why, choice);
  const { at, note } = runMomentOf([results.timestamp, memberOf(file.metadata, 'evaluationCreatedAt')]);
  const category = labelOf(memberOf(memberOf(config, 'tags'), 'category'), isRedTeam(config) ? 'red team' : undefined);
  const others = { failed, 'in error': errored - doubtful, 'that the statistics and the results count differently': doubtful };
  return {
    tool: 'promptfoo',
    name: labelOf(memberOf(config, 'description'), file.evalId) ?? 'promptfoo',
    ...(category === undefined ? {} : { category }),
    status: passed > 0 ? 'passing' : 'failing',
    pass_rate: passRateOf({ passed, total }),
    notes:
      `promptfoo: ${sentenceOf(passed, total, others)}.${completeness === 'partial' ? ` Partial: ${why}.` : ''}` +
      `${provenanceOf(file, results)}${note}`,
    cases: { total, passed, failed, errored, skipped: 0 },
    ...(at === undefined ? {} : { evaluated_at: at }),
    completeness,
    ...suiteOf(labelOf(memberOf(config, 'description'))),
  };
}

/** Whether the configuration attacks the agent. Older versions of promptfoo write a member `redteam` with empty lists into every file. */
function isRedTeam(config: unknown): boolean {
  const redTeam = memberOf(config, 'redteam');
  return isObject(redTeam) && Object.values(redTeam).some(isSet);
}

/** The counts in the statistics of a file, or of its prompts. */
interface Statistics {
  total: number;
  passed: number;
  failed: number;
  errored: number;
}

/** Reads the statistics of a file. Older versions of promptfoo count errors as failures. */
function readStatistics({ successes, failures, errors = 0 }: Members, where = 'results.stats'): Statistics {
  if (isCount(successes) && isCount(failures) && isCount(errors))
    return { total: successes + failures + errors, passed: successes, failed: failures, errored: errors };
  throw wrongFormatError('promptfoo', `${where} has no valid counts of successes, failures and errors`);
}

/** The counts of all prompts; undefined if a prompt has none. promptfoo computes its statistics from these counts. */
function promptCounts(prompts: unknown): Pick<Statistics, 'total' | 'passed'> | undefined {
  const metrics = Array.isArray(prompts) ? prompts.map((prompt) => memberOf(prompt, 'metrics')) : [];
  if (metrics.length === 0 || metrics.some((each) => memberOf(each, 'testPassCount') == null)) return undefined;
  const counts = metrics.map((each) => {
    const [successes, failures, errors] = ['testPassCount', 'testFailCount', 'testErrorCount'].map((name) =>
      memberOf(each, name),
    );
    return readStatistics({ successes, failures, errors }, 'results.prompts');
  });
  const sumOf = (name: 'total' | 'passed') => counts.reduce((sum, each) => sum + each[name], 0);
  return { total: sumOf('total'), passed: sumOf('passed') };
}

interface WorstCounts extends Statistics {
  /** The cases that remain after the passed, failed and errored ones. `errored` includes them. */
  doubtful: number;
  /** The listed results that repeat another one. */
  repeated: number;
}

/**
 * The worst of the statistics, the counts of the prompts and the listed results: the largest total and the smallest number of passed cases.
 * A case that is listed twice passed at most once.
 */
function worstOf(counts: Statistics, byPrompt: Pick<Statistics, 'total' | 'passed'> = counts, cases: unknown): WorstCounts {
  if (!Array.isArray(cases) || cases.length === 0)
    throw new ImportError(
      'contradictory',
      `results.stats counts ${counts.total} cases and results.results lists none: the file was filtered ` +
        `or cut off, or an older promptfoo wrote it with --no-write; run promptfoo again, without this option`,
    );
  const total = Math.max(counts.total, byPrompt.total, cases.length);
  const passed = Math.min(counts.passed, byPrompt.passed, countDistinct(cases.filter(hasPassed)));
  const doubtful = total - passed - counts.failed - counts.errored;
  const repeated = cases.length - countDistinct(cases);
  return { total, passed, failed: counts.failed, errored: counts.errored + doubtful, doubtful, repeated };
}

/** The number of results that differ in test, prompt or provider. Providers with their own prompts can use the same prompt numbers. */
const countDistinct = (results: readonly unknown[]): number => new Set(results.map(identityOf)).size;

/** The test, prompt and provider of a result as a text; the result itself if it has no test or prompt number. */
function identityOf(result: unknown): unknown {
  const [test, prompt, provider] = ['testIdx', 'promptIdx', 'provider'].map((name) => memberOf(result, name));
  if (!isCount(test) || !isCount(prompt)) return result;
  return JSON.stringify([test, prompt, labelOf(memberOf(provider, 'id'), provider), labelOf(memberOf(provider, 'label'))]);
}

/**
 * Whether a result passed. A result with an error, a failed grading or the reason of a failure did not pass, even if it has `success`. This
 * also applies to a result that a person marked as passed in the web viewer.
 */
const hasPassed = (result: unknown): boolean =>
  memberOf(result, 'success') === true &&
  !isSet(memberOf(result, 'error')) &&
  memberOf(memberOf(result, 'gradingResult'), 'pass') !== false &&
  (memberOf(result, 'failureReason') ?? 0) === 0;

function provenanceOf(file: Members, results: Members): string {
  const facts = [
    ['Evaluation', labelOf(file.evalId)],
    ['time', labelOf(results.timestamp)],
    ['version of promptfoo', labelOf(memberOf(file.metadata, 'promptfooVersion'))],
  ].filter(([, value]) => value !== undefined);
  return facts.length === 0 ? '' : ` ${facts.map(([what, value]) => `${what} ${value}`).join(', ')}.`;
}
