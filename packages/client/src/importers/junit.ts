import {
  checkCounts,
  ImportError,
  type ImportedEvaluation,
  labelOf,
  passRateOf,
  sentenceOf,
  suiteOf,
} from './imported-evaluation.ts';
import { type JUnitCounts, unknownElementsOf } from './junit-cases.ts';
import { countsOf, isSuite } from './junit-counts.ts';
import { type JUnitMoment, jUnitMoment } from './junit-moment.ts';
import { textOf, wrongFormatError } from './parse-results.ts';
import { type Element, rootOf } from './parse-xml.ts';

/** Which cases are left out of the pass rate. */
export interface JUnitChoice {
  /** Leave skipped cases out instead of counting them as not passed. */
  ignoreSkipped?: boolean | undefined;
}

/**
 * Reads a JUnit XML report (https://github.com/testmoapp/junitxml; written by pytest, Jest, vitest, node:test, Maven Surefire and many
 * others): `testsuites` or one `testsuite`. Suites may be nested. A case passed if it has no failure and no error, was not skipped, has no
 * unknown status or element, and the totals of its suite agree. A suite that failed as a whole counts as one more case. A report never
 * shows whether all cases ran.
 * @throws ImportError if the file has another format, is not well-formed, has a DOCTYPE, has no cases, has totals that are not whole
 * numbers, or has cases in unknown elements.
 */
export function importJUnit(bytes: Uint8Array, { ignoreSkipped = false }: JUnitChoice = {}): ImportedEvaluation {
  const root = reportOf(textOf(bytes));
  const counts = countsOf(root);
  const { total, passed, failed, errored, skipped } = counts;
  const denominator = total - (ignoreSkipped ? skipped : 0);
  if (total > 0 && denominator === 0)
    throw new ImportError('no_cases', 'this junit file has no cases except skipped ones, and --ignore-skipped leaves them out');
  checkCounts('junit', denominator, passed);
  const moment = jUnitMoment(root);
  const name = nameOf(root);
  return {
    tool: 'junit',
    name: name ?? 'junit',
    status: passed > 0 ? 'passing' : 'failing',
    pass_rate: passRateOf({ passed, total: denominator }),
    notes: notesOf(counts, unknownElementsOf(root), denominator, moment, ignoreSkipped),
    cases: { total, passed, failed, errored, skipped },
    ...(ignoreSkipped ? { skipped_excluded: true } : {}),
    ...(moment.at === undefined ? {} : { evaluated_at: moment.at }),
    completeness: 'unknown',
    ...suiteOf(name),
  };
}

function reportOf(text: string): Element {
  let root: Element;
  try {
    root = rootOf(text);
  } catch (error) {
    throw wrongFormatError('junit', (error as Error).message.slice(0, 200));
  }
  if (isSuite(root) || root.name === 'testsuites') return root;
  throw wrongFormatError('junit', `its root is ${labelOf(root.name)}, neither testsuites nor testsuite`);
}

/** The report's own name, or the name of its only suite. */
function nameOf(root: Element): string | undefined {
  const suites = root.elements.filter(isSuite);
  return labelOf(root.attributes.name, suites.length === 1 ? suites[0]!.attributes.name : undefined);
}

/** The maximum number of contradictions, and of unknown elements, in the notes. */
const LISTED_MAX = 5;

function notesOf(
  counts: JUnitCounts,
  unknownElements: readonly string[],
  denominator: number,
  moment: JUnitMoment,
  ignoreSkipped: boolean,
): string {
  const { passed, failed, errored, skipped, wholeSuites, missing, doubtful, unknown, contradictions } = counts;
  const others = {
    failed,
    'in error': errored - missing - doubtful - unknown,
    [ignoreSkipped ? 'skipped and left out' : 'skipped and counted as not passed']: skipped,
    'of unknown outcome and counted as not passed': unknown,
    'in the totals of a suite but not listed': missing,
    'listed without a failure but not passed according to the totals': doubtful,
  };
  const elements = unknownElements
    .slice(0, LISTED_MAX)
    .map((name) => name.slice(0, 40))
    .join(', ');
  const contradictionText = contradictions.slice(0, LISTED_MAX).join('; ');
  const more = contradictions.length > LISTED_MAX ? `; and ${contradictions.length - LISTED_MAX} more` : '';
  return [
    `JUnit: ${sentenceOf(passed, denominator, others)}.`,
    ...(unknown === 0 || elements === '' ? [] : [`Unknown elements in cases: ${elements}.`]),
    ...(wholeSuites === 0 ? [] : [`The outcomes of whole suites count as one case each: ${wholeSuites}.`]),
    ...(contradictionText === '' ? [] : [`Suites contradict their cases; the worse value counts: ${contradictionText}${more}.`]),
    ...(moment.hasIgnoredTimestamps
      ? ['Timestamps that are invalid or have no time zone are ignored: give --evaluated-at.']
      : moment.at === undefined
        ? ['The report contains no time of the run.']
        : []),
  ].join(' ');
}
