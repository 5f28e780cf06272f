import type { SpanRow } from '@countersign/core/portal/run-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { dollarsText } from './fragments.ts';

/** What of a step stands in its columns, and where the rest of it stands. */
export interface StoredSpan extends Omit<SpanRow, 'parent_span_id' | 'position' | 'error' | 'has_payload'> {
  /** Number of the submission that has it, its place there, and the size of that submission in bytes. */
  submission: number;
  ordinal: number;
  document_bytes: number;
}

/** Behind which step a page begins. */
export interface SpanPlace {
  submission: number;
  ordinal: number;
}

const LIST = sql<StoredSpan>(
  'portal_list_spans',
  `SELECT p.span_id, p.kind, p.name, p.status, p.model, p.provider, p.prompt_tokens, p.completion_tokens, p.total_tokens,
          ${dollarsText('p.cost_usd')} AS cost_usd, p.latency_ms, ${instantText('p.started_at')} AS started_at, ${instantText('p.ended_at')} AS ended_at,
          p.submission, p.ordinal, octet_length(s.document) AS document_bytes
     FROM countersign.spans AS p
     JOIN countersign.trace_submissions AS s ON s.tenant_id = $1 AND s.trace = $2 AND s.number = p.submission
    WHERE p.tenant_id = $1 AND p.trace = $2 AND (p.submission, p.ordinal) > ($3::integer, $4::integer)
    ORDER BY p.submission, p.ordinal LIMIT $5`,
);

/** The steps of a trace behind a place, in the order in which they came. `octet_length` reads the size that stands beside a long text. */
export const listSpans = (tx: Transaction, trace: string, after: SpanPlace | null, limit: number): Promise<StoredSpan[]> =>
  tx.run(LIST, [tx.tenantId, trace, after?.submission ?? 0, after?.ordinal ?? 0, limit]);

const FIND = sql<{ submission: number; ordinal: number; document: string }>(
  'portal_find_span',
  `SELECT p.submission, p.ordinal, s.document
     FROM countersign.spans AS p
     JOIN countersign.trace_submissions AS s ON s.tenant_id = $1 AND s.trace = $2 AND s.number = p.submission
    WHERE p.tenant_id = $1 AND p.trace = $2 AND p.span_id = $3`,
);

/** The submission that holds a step, and its place there; undefined when there is no such step. */
export const findSpan = async (
  tx: Transaction,
  trace: string,
  spanId: string,
): Promise<{ submission: number; ordinal: number; document: string } | undefined> =>
  (await tx.run(FIND, [tx.tenantId, trace, spanId]))[0];
