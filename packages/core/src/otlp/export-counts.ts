import { RECORDS_MAX, VALUES_MAX } from './records.ts';

/** The counts of a body. */
export interface ExportCounts {
  /** Spans, events, links, log records or data points. */
  records: number;
  /** Attributes, members of objects, elements of lists, and bodies of log records. */
  values: number;
}

export const noCounts = (): ExportCounts => ({ records: 0, values: 0 });

const LIMITS = { records: RECORDS_MAX, values: VALUES_MAX } as const satisfies ExportCounts;
const NAMES = {
  records: 'spans, events, links, log records or data points',
  values: 'attributes, list elements or bodies of log records',
} as const;

/** Counts more of a body. Returns whether it is still within the limit. */
export function addToCount(counts: ExportCounts, what: keyof ExportCounts, number = 1): boolean {
  counts[what] += number;
  return counts[what] <= LIMITS[what];
}

/** What is wrong with a body above the limit, and what to do. */
export const tooMany = (what: keyof ExportCounts): string =>
  `the body has more than ${LIMITS[what]} ${NAMES[what]}; send less at once`;
