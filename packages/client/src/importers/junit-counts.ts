import { ImportError, labelOf } from './imported-evaluation.ts';
import { caseCounts, type JUnitCounts, sumOf, wholeSuiteCounts, withSuiteState } from './junit-cases.ts';
import { wrongFormatError } from './parse-results.ts';
import { type Element, valuesOf } from './parse-xml.ts';

/**
 * The worse of the listed cases and the totals of each suite. At most as many cases count as passed as the totals state. Listed cases
 * beyond the totals, and counted cases that are not listed, count as not passed. A suite that failed as a whole counts as one more case.
 * @throws ImportError if a total is not a whole number or has two values, or if cases are in an element that is not a suite. The number of
 * passed cases is then unknown.
 */
export function countsOf(report: Element): JUnitCounts {
  const nodeTest = nodeTestTotals(report);
  if (nodeTest === undefined) return suiteCounts(report, false);
  return limitCounts(suiteCounts(report, true), 'the report', nodeTest.tests, nodeTest.pass);
}

export const isSuite = ({ name }: Element): boolean => name === 'testsuite';

function suiteCounts(suite: Element, isByNodeTest: boolean): JUnitCounts {
  const parts = suite.elements.flatMap((each) => {
    if (isSuite(each)) return [suiteCounts(each, isByNodeTest)];
    requireNoCases(each);
    return each.name === 'testcase' ? [caseCounts(each)] : wholeSuiteCounts(each);
  });
  const sum = sumOf(parts);
  const totals = totalsOf(suite);
  const { tests = sum.total, failures, errors, skipped, disabled, warnings } = totals;
  const notPassed = failures + errors + skipped + disabled + warnings;
  const counts =
    isByNodeTest && areTotalsOfParts(totals, parts)
      ? sum
      : limitCounts(sum, nameOf(suite), Math.max(tests, notPassed), tests - notPassed);
  return withSuiteState(suite, nameOf(suite), counts);
}

/**
 * Whether the totals of a suite count only the cases and suites directly in it, and no more failed or skipped ones than it lists. node:test
 * counts an inner suite as one test: as failed if one of its cases failed, and as skipped if one was skipped. Older versions of Node also
 * count a failed suite as skipped.
 */
function areTotalsOfParts(totals: Totals, parts: readonly JUnitCounts[]): boolean {
  const failed = parts.filter((part) => part.failed + part.errored > 0).length;
  const notPassed = parts.filter((part) => part.failed + part.errored + part.skipped > 0).length;
  return (
    totals.tests === parts.length &&
    totals.failures + totals.errors + totals.warnings <= failed &&
    totals.skipped + totals.disabled <= notPassed
  );
}

/** Throws an ImportError if an element that is not a suite contains cases or suites: they would not be counted. */
function requireNoCases({ name, elements }: Element): void {
  for (const each of elements) {
    if (each.name === 'testcase' || isSuite(each)) throw wrongFormatError('junit', `an element ${labelOf(name)} contains cases`);
    requireNoCases(each);
  }
}

/** The counts of at least `tests` cases, of which at most `passedMax` passed. Records a contradiction if the listed counts differ. */
function limitCounts(listed: JUnitCounts, where: string, tests: number, passedMax: number): JUnitCounts {
  const total = Math.max(listed.total, tests);
  const passed = Math.max(0, Math.min(listed.passed, passedMax));
  const [missing, doubtful] = [total - listed.total, listed.passed - passed];
  if (missing === 0 && doubtful === 0) return listed;
  const contradiction =
    `${where} counts ${tests} cases with ${Math.max(0, passedMax)} passed, ` +
    `and lists ${listed.total} with ${listed.passed} passed`;
  return {
    ...listed,
    ...{ total, passed, errored: listed.errored + missing + doubtful },
    ...{ missing: listed.missing + missing, doubtful: listed.doubtful + doubtful },
    contradictions: [...listed.contradictions, contradiction],
  };
}

/** The totals of a suite. A missing total is 0, but a missing `tests` is undefined. */
type Totals = Record<(typeof NOT_PASSED)[number], number> & { tests?: number };

/**
 * In a suite, `disabled` does not include the skipped cases. In the root of a report of Ginkgo, it includes them, and `skipped` is missing.
 * PHPUnit counts cases that could not run as `warnings`.
 */
const NOT_PASSED = ['failures', 'errors', 'skipped', 'disabled', 'warnings'] as const;

function totalsOf(suite: Element): Totals {
  const totals: Totals = { failures: 0, errors: 0, skipped: 0, disabled: 0, warnings: 0 };
  for (const name of ['tests', ...NOT_PASSED] as const) {
    const [text, another] = new Set(valuesOf(suite, name));
    if (text === undefined) continue;
    if (another !== undefined) throw totalError(suite, `${name}=${quote(text)} and ${name}=${quote(another)}`);
    if (!/^\d{1,9}$/.test(text)) throw totalError(suite, `${name}=${quote(text)}, which is not a count`);
    totals[name] = Number(text);
  }
  return totals;
}

const quote = (text: string): string => `"${labelOf(text.slice(0, 40)) ?? ''}"`;

const totalError = (suite: Element, what: string): ImportError =>
  new ImportError('contradictory', `${nameOf(suite)} has ${what}: the number of passed cases is unknown`);

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
  if (totals.size < 7) return undefined;
  const [tests, pass] = [totals.get('tests')!, totals.get('pass')!];
  const notPassed = ['fail', 'cancelled', 'skipped', 'todo'].reduce((sum, name) => sum + totals.get(name)!, 0);
  return { tests: Math.max(tests, pass + notPassed), pass: Math.min(pass, tests - notPassed) };
}
