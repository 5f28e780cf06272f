import { OTLP_OPERATIONS } from '@countersign/core/contract/otlp-operations';

/** The content of the partial success of a response: what was not added to runs, or was changed. */
export interface PartialSuccess {
  /** The number of records that are not added to runs. */
  rejected: number;
  /** One sentence for each reason. */
  reasons: readonly string[];
}

/** The response to an export as OTLP/JSON. `partialSuccess` is set only if something was rejected or changed. */
export function exportResponse(signal: keyof typeof OTLP_OPERATIONS, { rejected, reasons }: PartialSuccess): string {
  if (rejected === 0 && reasons.length === 0) return '{}';
  const count = rejected === 0 ? {} : { [OTLP_OPERATIONS[signal].rejectedMember]: String(rejected) };
  return JSON.stringify({ partialSuccess: { ...count, errorMessage: reasons.join(' ') } });
}
