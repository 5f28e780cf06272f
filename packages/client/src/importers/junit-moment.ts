import { earliestOf, momentOf } from './moments.ts';
import type { Element } from './parse-xml.ts';

/** When the suites of a report started, if their timestamps are clear. */
export interface JUnitMoment {
  /** The earliest start, in UTC. */
  at?: string;
  /** Whether some timestamps were ignored: they are invalid, or have no time zone and their writer is not known to write UTC. */
  hasIgnoredTimestamps: boolean;
}

/** The earliest time among the timestamps of a report. */
export function jUnitMoment(report: Element): JUnitMoment {
  const [moments, timestamped]: [string[], Element[]] = [[], []];
  const pending = [report];
  for (let element = pending.pop(); element !== undefined; element = pending.pop()) {
    if (!['', NOT_STARTED].includes(element.attributes.timestamp ?? '')) timestamped.push(element);
    for (const each of element.elements) if (each.name === 'testsuite') pending.push(each);
  }
  for (const element of timestamped) {
    const moment = momentOf(element.attributes.timestamp, { writesUtc: writesUtc(element) });
    if (moment !== undefined) moments.push(moment);
  }
  const at = earliestOf(moments);
  return { ...(at === undefined ? {} : { at }), hasIgnoredTimestamps: moments.length < timestamped.length };
}

/** jest-junit writes this time for a test file that could not be loaded, so its suite never started. */
const NOT_STARTED = '1970-01-01T00:00:00';

/**
 * The attributes of a suite in the order in which jest-junit writes them. jest-junit writes the result of toISOString, which is in UTC,
 * without the fraction and the Z. No other known writer uses this order.
 */
const JEST_JUNIT = 'name errors failures skipped timestamp time tests';

const writesUtc = ({ attributes }: Element): boolean => Object.keys(attributes).join(' ') === JEST_JUNIT;
