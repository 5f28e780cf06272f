import { OTLP_OPERATIONS } from '@countersign/core/contract/otlp-operations';

/** The partial success of a response: what the sender must know about the export. */
export interface PartialSuccess {
  /** The number of records that are not added to runs. */
  rejected: number;
  /** Sentences: why records were not added to runs, that user IDs were overwritten, and what the body lacks. */
  reasons: readonly string[];
}

/** The response to an export as OTLP/JSON. `partialSuccess` is set only if there is something to report. */
export function exportResponse(signal: keyof typeof OTLP_OPERATIONS, { rejected, reasons }: PartialSuccess): string {
  if (rejected === 0 && reasons.length === 0) return '{}';
  const count = rejected === 0 ? {} : { [OTLP_OPERATIONS[signal].rejectedMember]: String(rejected) };
  return JSON.stringify({ partialSuccess: { ...count, errorMessage: reasons.join(' ') } });
}
