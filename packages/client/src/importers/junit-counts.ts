import { type BinaryCounts, ImportError, labelOf } from './imported-evaluation.ts';
import { notThisFormat } from './parse-results.ts';
import type { Element } from './parse-xml.ts';

/** Counts of a suite and of all suites within it. */
export interface JUnitCounts extends BinaryCounts {
  /** Cases that the totals count but the report does not list. They count as errored. */
  missing: number;
  /** Cases that are listed without a failure, but that the totals do not count as passed. They count as errored. */
  doubtful: number;
  /** Cases without a failure whose status is not known. They count as errored. */
  unknown: number;
  /** Suites whose totals contradict their cases. */
  contradictions: readonly string[];
}

/**
 * The worse of the listed cases and the totals of each suite. No more cases count as passed than the totals say. Listed cases beyond
 * the totals, and counted cases that are not listed, count as not passed.
 * @throws ImportError if a total is not a whole number, or cases are in an element that is not a suite, because the number of passed
 * cases is then unknown.
 */
export function countsOf(report: Element): JUnitCounts {
  const nodeTest = nodeTestTotals(report);
  if (nodeTest === undefined) return suiteCounts(report, false);
  return limitedTo(suiteCounts(report, true), 'the report', nodeTest.tests, nodeTest.pass);
}

export const isSuite = ({ name }: Element): boolean => name === 'testsuite';

function suiteCounts(suite: Element, byNodeTest: boolean): JUnitCounts {
  const parts = suite.elements.flatMap((each) => {
    if (isSuite(each)) return [suiteCounts(each, byNodeTest)];
    requireNoCases(each);
    return each.name === 'testcase' ? [caseCounts(each)] : [];
  });
  const sum = parts.reduce(addCounts, NONE);
  const { tests = sum.total, failures = 0, errors = 0, skipped = 0 } = totalsOf(suite);
  // node:test counts a suite within a suite as one test. The totals at the end of its report count every case.
  if (byNodeTest && tests === parts.length) return sum;
  return limitedTo(sum, nameOf(suite), tests, tests - failures - errors - skipped);
}

/** Throws an ImportError if an element that is not a suite contains cases or suites: they would not be counted. */
function requireNoCases({ name, elements }: Element): void {
  for (const each of elements) {
    if (each.name === 'testcase' || isSuite(each)) throw notThisFormat('junit', `an element ${labelOf(name)} contains cases`);
    requireNoCases(each);
  }
}

/** The counts of at least `tests` cases, of which at most `passedMax` passed. Records a contradiction if the listed counts differ. */
function limitedTo(listed: JUnitCounts, where: string, tests: number, passedMax: number): JUnitCounts {
  const total = Math.max(listed.total, tests);
  const passed = Math.max(0, Math.min(listed.passed, passedMax));
  const [missing, doubtful] = [total - listed.total, listed.passed - passed];
  if (missing === 0 && doubtful === 0) return listed;
  const contradiction = `${where} counts ${tests} cases with ${Math.max(0, passedMax)} passed, and lists ${listed.total} with ${listed.passed} passed`;
  return {
    ...listed,
    ...{ total, passed, errored: listed.errored + missing + doubtful },
    ...{ missing: listed.missing + missing, doubtful: listed.doubtful + doubtful },
    contradictions: [...listed.contradictions, contradiction],
  };
}

const NONE: JUnitCounts = {
  ...{ total: 0, passed: 0, failed: 0, errored: 0, skipped: 0 },
  ...{ missing: 0, doubtful: 0, unknown: 0, contradictions: [] },
};

const addCounts = (left: JUnitCounts, right: JUnitCounts): JUnitCounts => ({
  total: left.total + right.total,
  passed: left.passed + right.passed,
  failed: left.failed + right.failed,
  errored: left.errored + right.errored,
  skipped: left.skipped + right.skipped,
  missing: left.missing + right.missing,
  doubtful: left.doubtful + right.doubtful,
  unknown: left.unknown + right.unknown,
  contradictions: [...left.contradictions, ...right.contradictions],
});

/** A status or result of a case that did not pass. Known writers add an element `failure` or `error`, but a report may lack it. */
const NOT_PASSED = /^(?:fail(?:ed|ure)?|error(?:ed)?)$/i;

/** GoogleTest writes `notrun` for disabled cases. Up to version 1.10 it writes `skipped` without an element. */
const SKIPPED = /^(?:skip(?:ped)?|ignored?|disabled|not[ _-]?run|suppressed|pending|todo|untested)$/i;

/** A status or result that does not contradict that the case passed, if it has no failure. */
const PASSED = /^(?:run|ran|pass(?:ed)?|success(?:ful)?|succeeded|ok|completed?|finished|done|executed|fixed|true)$/i;

/** The counts of one case by its elements, and by its status and result. */
function caseCounts({ attributes, elements }: Element): JUnitCounts {
  const has = (...names: string[]) => elements.some(({ name }) => names.includes(name));
  const states = [attributes.status, attributes.result].flatMap((text) => text?.trim() || []);
  if (has('error')) return { ...NONE, total: 1, errored: 1 };
  if (has('failure') || states.some((state) => NOT_PASSED.test(state))) return { ...NONE, total: 1, failed: 1 };
  if (has('skipped', 'disabled') || states.some((state) => SKIPPED.test(state))) return { ...NONE, total: 1, skipped: 1 };
  if (!states.every((state) => PASSED.test(state))) return { ...NONE, total: 1, errored: 1, unknown: 1 };
  return { ...NONE, total: 1, passed: 1 };
}

type Totals = Partial<Record<(typeof TOTALS)[number], number>>;

const TOTALS = ['tests', 'failures', 'errors', 'skipped'] as const;

function totalsOf(suite: Element): Totals {
  const totals: Totals = {};
  for (const name of TOTALS) {
    const text = Object.hasOwn(suite.attributes, name) ? suite.attributes[name]!.trim() : '';
    if (text === '') continue;
    if (!/^\d{1,9}$/.test(text))
      throw new ImportError(
        'contradictory',
        `${nameOf(suite)} has ${name}="${labelOf(text.slice(0, 40)) ?? ''}", which is not a count: the number of passed cases is unknown`,
      );
    totals[name] = Number(text);
  }
  return totals;
}

const nameOf = ({ name, attributes }: Element): string =>
  `${name === 'testsuites' ? 'the report' : 'suite'} ${JSON.stringify((labelOf(attributes.name) ?? '').slice(0, 60))}`;

/** The totals that the reporter of node:test writes as comments after the last suite; undefined in other reports. */
function nodeTestTotals(report: Element): { tests: number; pass: number } | undefined {
  const totals = new Map(
    report.comments.flatMap((comment) => {
      const [, name, count] = /^ ?(tests|suites|pass|fail|cancelled|skipped|todo) (\d{1,9}) ?$/.exec(comment) ?? [];
      return name === undefined ? [] : [[name, Number(count)] as const];
    }),
  );
  const [tests, pass] = [totals.get('tests'), totals.get('pass')];
  return totals.size === 7 && tests !== undefined && pass !== undefined ? { tests, pass } : undefined;
}
