import { hash } from 'node:crypto';
import type { MergedSpan } from '@countersign/core/domain/merged-trace';
import { usageOf } from '@countersign/core/domain/usage';
import { USAGE } from './merged-spans.ts';

/**
 * SQL for the SHA-256, in hex, over the stored spans of a trace in the order of their IDs; null if there are none. `digestOfSpans` computes
 * the same digest, so that the stored spans can be compared without reading them.
 * @param trace SQL for `traces.id`.
 */
export const digestOfStoredSpans = (trace: string): string =>
  `(SELECT encode(sha256(convert_to(string_agg(concat(octet_length(m.span_id), ' ', m.span_id, ' ', m.submission, ' ',
      ${USAGE_TEXTS.join(", ' ', ")}), E'\\n' ORDER BY m.span_id), 'UTF8')), 'hex')
      FROM countersign.merged_spans AS m WHERE m.tenant_id = $1 AND m.trace = ${trace})`;

const USAGE_TEXTS = USAGE.map(
  (member) => `coalesce(${member === 'cost_usd' ? `trim_scale(m.${member})` : `m.${member}`}::text, '-')`,
);

/** Computes the digest of `digestOfStoredSpans` from spans in memory. The keys of the map are their IDs. */
export function digestOfSpans(spans: ReadonlyMap<string, MergedSpan>): string | null {
  if (spans.size === 0) return null;
  const lines = [...spans].map(([spanId, span]) => {
    const id = Buffer.from(spanId);
    const { promptTokens, completionTokens, totalTokens, costUsd } = usageOf(span);
    const usage = [promptTokens, completionTokens, totalTokens, costUsd].map((member) => member ?? '-');
    return { id, line: `${id.length} ${spanId} ${span.submission} ${usage.join(' ')}` };
  });
  const ordered = lines.sort((one, other) => one.id.compare(other.id)).map(({ line }) => line);
  return hash('sha256', ordered.join('\n'), 'hex');
}

/** SQL that is true if the stored sums of a trace equal the sums of its stored spans, or if it has one submission and no stored sums. */
export const hasSumsOfSpans = (trace: string, submissionCount: string): string =>
  `coalesce((SELECT (s.span_count, ${USAGE.map((member) => `s.${member}, s.${member}_reported`).join(', ')}) = (
      SELECT count(*), ${USAGE.map((member) => `coalesce(sum(m.${member}), 0), count(m.${member})`).join(', ')}
        FROM countersign.merged_spans AS m WHERE m.tenant_id = $1 AND m.trace = ${trace})
      FROM countersign.merged_traces AS s WHERE s.tenant_id = $1 AND s.trace = ${trace}), ${submissionCount} = 1)`;
