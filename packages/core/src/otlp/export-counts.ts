import { RECORDS_MAX, VALUES_MAX } from './records.ts';

/** The number of records and values in a body. */
export interface ExportCounts {
  /** Spans, events, links, log records or data points. */
  records: number;
  /** Attributes, members of objects, elements of lists, bodies of log records, and repeated messages of protobuf. */
  values: number;
}

/** Counts of zero. */
export const noCounts = (): ExportCounts => ({ records: 0, values: 0 });

const LIMITS = { records: RECORDS_MAX, values: VALUES_MAX } as const satisfies ExportCounts;
const NAMES = {
  records: 'spans, events, links, log records or data points',
  values: 'attributes, list elements or bodies of log records',
} as const;

/** Adds a number to a count. Returns whether the count is still within its limit. */
export function addToCount(counts: ExportCounts, what: keyof ExportCounts, number = 1): boolean {
  counts[what] += number;
  return counts[what] <= LIMITS[what];
}

/** The message for a body above a limit: what is wrong, and what to do. */
export const tooManyMessage = (what: keyof ExportCounts): string =>
  `the body has more than ${LIMITS[what]} ${NAMES[what]}; send less at once`;
