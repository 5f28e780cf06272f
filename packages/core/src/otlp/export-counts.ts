import { RECORDS_MAX, VALUES_MAX } from './records.ts';

/** The number of records and values in a body. */
export interface ExportCounts {
  /** Spans, events, links, log records or data points. */
  records: number;
  /**
   * Attributes, members of objects, elements of lists, and bodies of log records. In protobuf, also each message field of an attribute or a
   * value after the first one.
   */
  values: number;
}

/** Counts of zero. */
export const zeroCounts = (): ExportCounts => ({ records: 0, values: 0 });

const LIMITS = { records: RECORDS_MAX, values: VALUES_MAX } as const satisfies ExportCounts;
const KIND_NAMES = {
  records: 'spans, events, links, log records or data points',
  values: 'attributes, list elements or bodies of log records',
} as const;

/** Adds a number to a count. Returns whether the count is still within its limit. */
export function addToCount(counts: ExportCounts, kind: keyof ExportCounts, number = 1): boolean {
  counts[kind] += number;
  return counts[kind] <= LIMITS[kind];
}

/** The message for a body above a limit: what is wrong, and what to do. */
export const tooManyMessage = (kind: keyof ExportCounts): string =>
  `the body has more than ${LIMITS[kind]} ${KIND_NAMES[kind]}; send less at once`;
