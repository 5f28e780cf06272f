import type { SpanRow } from '@countersign/core/portal/run-routes';
import { FENCE } from '../../database/planner.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { documentBytes } from '../document-segments.ts';
import { instantText } from '../instant-text.ts';
import { dollarsText } from './fragments.ts';

/** The listed columns of a step (a span of a trace), and the place of the complete step. */
export interface StoredSpan extends Omit<SpanRow, 'parent_span_id' | 'position' | 'error' | 'has_payload'>, SpanInDocument {}

/** The place of a step, and the size of the document of its submission in bytes. */
export interface SpanInDocument extends SpanPlace {
  document_bytes: number;
}

/** The place of a step: the number of its submission, and its index in the document of the submission. */
export interface SpanPlace {
  /** From 1. */
  submission: number;
  /** From 0. */
  ordinal: number;
}

/** A submission of a trace: the size of its document, and the size of the facts of its steps (`spansText`), in bytes. */
export interface SubmissionSize {
  number: number;
  document_bytes: number;
  span_bytes: number;
}

// `octet_length` only reads the stored size of a long text, not the text.
const LIST_SIZES = sql<SubmissionSize>(
  'portal_list_submission_sizes',
  `SELECT number, ${documentBytes('s')} AS document_bytes, octet_length(spans) AS span_bytes
     FROM countersign.trace_submissions AS s WHERE tenant_id = $1 AND trace = $2 AND number >= $3 ORDER BY number LIMIT $4`,
);

/** The sizes of the submissions of a trace from the number `from` on, in order, at most `limit`. */
export const listSubmissionSizes = (tx: Transaction, trace: string, from: number, limit: number): Promise<SubmissionSize[]> =>
  tx.run(LIST_SIZES, [tx.tenantId, trace, from, limit]);

/**
 * SQL that is true for a step that no later submission of its trace replaces. A trace with one submission has no rows in `merged_spans`.
 * The SQL looks up each step, because the view `countersign.spans` would read all submissions of the trace.
 * @param trace SQL for `traces.id`.
 * @param spanId SQL for the span_id: a column of a fenced subquery. PostgreSQL uses an index of a table with row-level security only for a
 * column, a parameter or a leakproof function, and `->>` is not leakproof (docs/decisions/0056).
 * @param submission SQL for the number of the submission.
 */
export const isCurrentSpan = (trace: string, spanId: string, submission: string): string =>
  `coalesce((SELECT m.submission FROM countersign.merged_spans AS m
     WHERE m.tenant_id = $1 AND m.trace = ${trace} AND m.span_id = ${spanId}), ${submission}) = ${submission}`;

/**
 * SQL for the index of a step in the document of its submission.
 * @param fields SQL for the facts of the step. Item 13 (from 0) is the index. If it is null or missing, the index is `place` minus 1.
 * @param place SQL for the position of the step's facts among all facts of the submission, from 1.
 */
const ordinalOf = (fields: string, place: string): string => `coalesce((${fields} ->> 13)::integer, ${place}::integer - 1)`;

const instantOf = (micros: string): string => instantText(`countersign.instant_of((${micros})::bigint)`);

// `fields` has the `span_id`, and then the columns of the view `countersign.spans` from `kind` on.
const LIST = sql<StoredSpan>(
  'portal_list_spans',
  `SELECT p.span_id, p.fields ->> 1 AS kind, p.fields ->> 2 AS name, p.fields ->> 3 AS status, p.fields ->> 4 AS model,
          p.fields ->> 5 AS provider, (p.fields ->> 6)::bigint AS prompt_tokens, (p.fields ->> 7)::bigint AS completion_tokens,
          (p.fields ->> 8)::bigint AS total_tokens, ${dollarsText('(p.fields ->> 9)::numeric')} AS cost_usd, (p.fields ->> 10)::bigint AS latency_ms,
          ${instantOf('p.fields ->> 11')} AS started_at, ${instantOf('p.fields ->> 12')} AS ended_at,
          p.submission, p.ordinal, p.document_bytes
     FROM (SELECT s.number AS submission, span.fields, span.fields ->> 0 AS span_id,
                  ${ordinalOf('span.fields', 'span.place')} AS ordinal, ${documentBytes('s')} AS document_bytes
             FROM countersign.trace_submissions AS s CROSS JOIN LATERAL json_array_elements(s.spans::json) WITH ORDINALITY AS span (fields, place)
            WHERE s.tenant_id = $1 AND s.trace = $2 AND s.number BETWEEN $3 AND $5 ${FENCE}) AS p
    WHERE (p.submission, p.ordinal) > ($3::integer, $4::integer) AND ${isCurrentSpan('$2', 'p.span_id', 'p.submission')}
    ORDER BY p.submission, p.ordinal LIMIT $6`,
);

/**
 * The current steps of a trace after a place, up to and including the submission `lastSubmission`, in the order of arrival, at most
 * `limit`. Reads all steps of these submissions.
 */
export const listSpans = (
  tx: Transaction,
  trace: string,
  after: SpanPlace | null,
  lastSubmission: number,
  limit: number,
): Promise<StoredSpan[]> =>
  tx.run(LIST, [tx.tenantId, trace, after?.submission ?? 0, after?.ordinal ?? 0, lastSubmission, limit]);

// A trace without rows in `merged_spans` has one submission.
const FIND = sql<SpanInDocument>(
  'portal_find_span',
  `SELECT s.number AS submission, ${ordinalOf('span.fields', 'span.place')} AS ordinal, ${documentBytes('s')} AS document_bytes
     FROM countersign.trace_submissions AS s CROSS JOIN LATERAL json_array_elements(s.spans::json) WITH ORDINALITY AS span (fields, place)
    WHERE s.tenant_id = $1 AND s.trace = $2 AND span.fields ->> 0 = $3
      AND s.number = coalesce(
        (SELECT m.submission FROM countersign.merged_spans AS m WHERE m.tenant_id = $1 AND m.trace = $2 AND m.span_id = $3), 1)`,
);

/** The place of a step, and the size of the document of its submission; undefined if there is no such step. */
export const findSpan = async (tx: Transaction, trace: string, spanId: string): Promise<SpanInDocument | undefined> =>
  (await tx.run(FIND, [tx.tenantId, trace, spanId]))[0];
