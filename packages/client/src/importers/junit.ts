import { checkedCounts, type ImportedEvaluation, labelOf, passRateOf, sentenceOf } from './imported-evaluation.ts';
import { notThisFormat, textOf } from './parse-results.ts';
import { type Element, rootOf } from './parse-xml.ts';

/** What of a report may be left out of the count. */
export interface JUnitChoice {
  /** Leave skipped cases out instead of counting them as not passed. */
  ignoreSkipped?: boolean | undefined;
}

/**
 * Reads a JUnit XML report (https://github.com/testmoapp/junitxml; written by pytest, vitest, Maven Surefire, gotestsum and many others):
 * `testsuites` or one `testsuite`, suites within suites included. A case passed when it has no failure, no error and was not skipped. Where
 * a suite's totals say worse than its cases (cut off, or failed before its cases ran), the totals count.
 * @throws ImportError when it is no such report, is hostile or cut off, or holds no cases.
 */
export function importJUnit(bytes: Uint8Array, { ignoreSkipped = false }: JUnitChoice = {}): ImportedEvaluation {
  const root = reportOf(textOf(bytes));
  const { total, passed, failed, skipped, missing } = tallyOf(root);
  const counts = checkedCounts('junit', { total: total - (ignoreSkipped ? skipped : 0), passed });
  const others = {
    failed,
    [ignoreSkipped ? 'skipped and left out' : 'skipped, which count as not passed']: skipped,
    'counted by a suite, but not in it': missing,
  };
  return {
    tool: 'junit',
    name: nameOf(root) ?? 'junit',
    status: passed > 0 ? 'passing' : 'failing',
    pass_rate: passRateOf(counts),
    notes: `JUnit: ${sentenceOf(counts, others)}.`,
    counts,
  };
}

function reportOf(text: string): Element {
  let root: Element;
  try {
    root = rootOf(text);
  } catch (error) {
    throw notThisFormat('junit', (error as Error).message.slice(0, 200));
  }
  if (isSuite(root) || root.name === 'testsuites') return root;
  throw notThisFormat('junit', `its root is ${labelOf(root.name)}, neither testsuites nor testsuite`);
}

const isSuite = ({ name }: Element): boolean => name === 'testsuite';

/** The report's own name, or that of its only suite. */
function nameOf(root: Element): string | undefined {
  const suites = root.elements.filter(isSuite);
  return labelOf(root.attributes.name, suites.length === 1 ? suites[0]!.attributes.name : undefined);
}

/** Counts of a suite and of all suites within it. */
interface Tally {
  total: number;
  passed: number;
  failed: number;
  skipped: number;
  /** Cases that totals count and that do not stand in the report. */
  missing: number;
}

/** The worse of two readings of a suite: its cases, and its totals. */
function tallyOf(suite: Element): Tally {
  const parts = suite.elements.flatMap((each) =>
    each.name === 'testcase' ? [caseOf(each)] : isSuite(each) ? [tallyOf(each)] : [],
  );
  const sum = parts.reduce(added, { total: 0, passed: 0, failed: 0, skipped: 0, missing: 0 });
  const said = (name: string) => (/^\d{1,9}$/.test(suite.attributes[name] ?? '') ? Number(suite.attributes[name]) : 0);
  const total = Math.max(sum.total, said('tests'));
  const passed = Math.max(0, Math.min(sum.passed, total - said('failures') - said('errors') - said('skipped')));
  return { ...sum, total, passed, failed: sum.failed + sum.passed - passed, missing: sum.missing + total - sum.total };
}

const added = (left: Tally, right: Tally): Tally => ({
  total: left.total + right.total,
  passed: left.passed + right.passed,
  failed: left.failed + right.failed,
  skipped: left.skipped + right.skipped,
  missing: left.missing + right.missing,
});

/** GoogleTest says `notrun` of cases that were disabled. */
function caseOf({ attributes, elements }: Element): Tally {
  const has = (...names: string[]) => elements.some(({ name }) => names.includes(name));
  const failed = has('failure', 'error');
  const skipped = !failed && (has('skipped', 'disabled') || attributes.status === 'notrun');
  return { total: 1, passed: failed || skipped ? 0 : 1, failed: Number(failed), skipped: Number(skipped), missing: 0 };
}
