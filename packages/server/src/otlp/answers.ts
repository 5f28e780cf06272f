import { OTLP_OPERATIONS } from '@countersign/core/contract/otlp-operations';

/** What of an export was not stored, or not as it came. */
export interface Shortfall {
  /** Records that are not stored. */
  rejected: number;
  /** One sentence for each reason. */
  reasons: readonly string[];
}

/** The answer to an export as OTLP/JSON. `partialSuccess` is there only where something was rejected or changed. */
export function exportAnswer(signal: keyof typeof OTLP_OPERATIONS, { rejected, reasons }: Shortfall): string {
  if (rejected === 0 && reasons.length === 0) return '{}';
  const count = rejected === 0 ? {} : { [OTLP_OPERATIONS[signal].rejected]: String(rejected) };
  return JSON.stringify({ partialSuccess: { ...count, errorMessage: reasons.join(' ') } });
}
