import { earliestOf, momentOf } from './moments.ts';
import { type Element, valuesOf } from './parse-xml.ts';

/** When the suites of a report started, if their timestamps are clear. */
export interface JUnitMoment {
  /** The earliest start, in UTC. */
  at?: string;
  /** Whether some timestamps were ignored: they are invalid, or have no time zone and their writer is not known to write UTC. */
  hasIgnoredTimestamps: boolean;
}

/** The earliest time in the `timestamp` attributes of a report, whatever the prefix and the capitals of their names are. */
export function jUnitMoment(report: Element): JUnitMoment {
  const moments: (string | undefined)[] = [];
  const pending = [report];
  for (let element = pending.pop(); element !== undefined; element = pending.pop()) {
    const choice = { writesUtc: writesUtc(element) };
    const timestamps = valuesOf(element, 'timestamp').filter((each) => each !== NOT_STARTED);
    moments.push(...timestamps.map((each) => momentOf(each, choice)));
    for (const each of element.elements) if (each.name === 'testsuite') pending.push(each);
  }
  const at = earliestOf(moments.filter((each) => each !== undefined));
  return { ...(at === undefined ? {} : { at }), hasIgnoredTimestamps: moments.includes(undefined) };
}

/** jest-junit writes this time for a test file that could not be loaded, so its suite never started. */
const NOT_STARTED = '1970-01-01T00:00:00';

/**
 * The attributes of a suite in the order in which jest-junit writes them. jest-junit writes the result of toISOString, which is in UTC,
 * without the fraction and the Z. No other known writer uses this order.
 */
const JEST_JUNIT = 'name errors failures skipped timestamp time tests';

const writesUtc = ({ attributes }: Element): boolean => Object.keys(attributes).join(' ') === JEST_JUNIT;
