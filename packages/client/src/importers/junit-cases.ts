import { type BinaryCounts, labelOf } from './imported-evaluation.ts';
import { type Element, valuesOf } from './parse-xml.ts';

/** Counts of a suite and of all suites within it. */
export interface JUnitCounts extends BinaryCounts {
  /** Outcomes of whole suites. Each counts as one more case. */
  wholeSuites: number;
  /** Cases that the totals count but the report does not list. They count as errored. */
  missing: number;
  /** Cases that are listed without a failure, but that the totals do not count as passed. They count as errored. */
  doubtful: number;
  /** Cases without a failure that have a status or an element whose meaning is not known. They count as errored. */
  unknown: number;
  /** A sentence for each suite whose totals or status contradict its cases. */
  contradictions: readonly string[];
}

const NONE: JUnitCounts = {
  ...{ total: 0, passed: 0, failed: 0, errored: 0, skipped: 0 },
  ...{ wholeSuites: 0, missing: 0, doubtful: 0, unknown: 0, contradictions: [] },
};

/** The sum of counts. */
export const sumOf = (parts: readonly JUnitCounts[]): JUnitCounts => parts.reduce(addCounts, NONE);

const addCounts = (left: JUnitCounts, right: JUnitCounts): JUnitCounts => ({
  total: left.total + right.total,
  passed: left.passed + right.passed,
  failed: left.failed + right.failed,
  errored: left.errored + right.errored,
  skipped: left.skipped + right.skipped,
  wholeSuites: left.wholeSuites + right.wholeSuites,
  missing: left.missing + right.missing,
  doubtful: left.doubtful + right.doubtful,
  unknown: left.unknown + right.unknown,
  contradictions: [...left.contradictions, ...right.contradictions],
});

const PASSED: JUnitCounts = { ...NONE, total: 1, passed: 1 };
const FAILED: JUnitCounts = { ...NONE, total: 1, failed: 1 };
const ERRORED: JUnitCounts = { ...NONE, total: 1, errored: 1 };
const SKIPPED: JUnitCounts = { ...NONE, total: 1, skipped: 1 };

/** A status or result of a case that did not pass. Known writers add an element `failure` or `error`, but a report may lack it. */
const NOT_PASSED_STATE = /^(?:fail(?:ed|ure)?|error(?:ed)?|false)$/i;

/** GoogleTest writes `notrun` for disabled cases. Up to version 1.10 it writes `skipped` without an element. */
const SKIPPED_STATE = /^(?:skip(?:ped)?|ignored?|disabled|not[ _-]?run|suppressed|pending|todo|untested)$/i;

/** A status or result of a case that passed if it has no failure. trx2junit writes `1`. */
const PASSED_STATE = /^(?:run|ran|pass(?:ed)?|success(?:ful)?|succeeded|ok|completed?|finished|done|executed|fixed|true|1)$/i;

/** Elements of a case that decide its outcome, at any depth. */
const OUTCOMES: ReadonlySet<string> = new Set(['error', 'failure', 'skipped', 'disabled']);

/** Elements directly in a case that do not decide its outcome. Surefire writes `flakyFailure` if the case passed when it was run again. */
const NEUTRAL: ReadonlySet<string> = new Set([
  ...['system-out', 'system-err', 'properties', 'property', 'attachments', 'attachment'],
  ...['flakyfailure', 'flakyerror'],
]);

/** The names of unknown elements directly in a case, such as the `warning` that PHPUnit writes for a case that could not run. */
const unknownNames = ({ elements }: Element): string[] =>
  elements.map(({ name }) => name).filter((name) => !OUTCOMES.has(name) && !NEUTRAL.has(name));

/** The names of the unknown elements in the cases of a report. */
export const unknownElementsOf = (element: Element): string[] =>
  element.name === 'testcase' ? unknownNames(element) : [...new Set(element.elements.flatMap(unknownElementsOf))];

const statesOf = (element: Element): string[] => ['status', 'result', 'success'].flatMap((name) => valuesOf(element, name));

/** The counts of one case by the elements in it at any depth, and by its status, result and success. */
export function caseCounts(element: Element): JUnitCounts {
  const names = namesWithin(element);
  const states = statesOf(element);
  if (names.has('error')) return ERRORED;
  if (names.has('failure') || states.some((state) => NOT_PASSED_STATE.test(state))) return FAILED;
  if (names.has('skipped') || names.has('disabled') || states.some((state) => SKIPPED_STATE.test(state))) return SKIPPED;
  const isKnown = unknownNames(element).length === 0 && states.every((state) => PASSED_STATE.test(state));
  return isKnown ? PASSED : { ...ERRORED, unknown: 1 };
}

function namesWithin({ elements }: Element, names = new Set<string>()): Set<string> {
  for (const each of elements) namesWithin(each, names.add(each.name));
  return names;
}

/**
 * The outcomes in an element of a suite that is neither a case nor a suite. Each outcome applies to the whole suite, and counts as one more
 * case. The test runners of Ant and Eclipse write an `error` directly in a suite whose class could not be loaded.
 */
export function wholeSuiteCounts({ name, elements }: Element): JUnitCounts[] {
  if (name === 'error') return [{ ...ERRORED, wholeSuites: 1 }];
  if (name === 'failure') return [{ ...FAILED, wholeSuites: 1 }];
  if (name === 'skipped') return [{ ...SKIPPED, wholeSuites: 1 }];
  return elements.flatMap(wholeSuiteCounts);
}

/**
 * Adds an errored case to the counts of a suite if the status of the suite is not one of passed suites, and no failed, errored or skipped
 * case explains this status.
 */
export function withSuiteState(suite: Element, where: string, counts: JUnitCounts): JUnitCounts {
  if (counts.failed + counts.errored > 0) return counts;
  const isSkipShown = counts.skipped > 0 || counts.passed === 0;
  const state = statesOf(suite).find((each) => !PASSED_STATE.test(each) && !(SKIPPED_STATE.test(each) && isSkipShown));
  if (state === undefined) return counts;
  const contradiction = `${where} has the status ${JSON.stringify(labelOf(state.slice(0, 40)) ?? '')}, and none of its cases failed`;
  return sumOf([counts, { ...ERRORED, wholeSuites: 1, contradictions: [contradiction] }]);
}
