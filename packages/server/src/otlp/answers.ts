/** The member of an answer that counts what was rejected, by signal. */
const REJECTED = { traces: 'rejectedSpans', logs: 'rejectedLogRecords', metrics: 'rejectedDataPoints' } as const;

/** What of an export was not stored, or not as it came. */
export interface Shortfall {
  /** Records that are not stored. */
  rejected: number;
  /** One sentence for each reason. */
  reasons: readonly string[];
}

/** The answer to an export as OTLP/JSON. `partialSuccess` is there only where something was rejected or changed. */
export function exportAnswer(signal: keyof typeof REJECTED, { rejected, reasons }: Shortfall): string {
  if (rejected === 0 && reasons.length === 0) return '{}';
  const count = rejected === 0 ? {} : { [REJECTED[signal]]: String(rejected) };
  return JSON.stringify({ partialSuccess: { ...count, errorMessage: reasons.join(' ') } });
}
