-- Up Migration
-- A model call can be reported by two spans, one below the other, that arrive in different exports (docs/decisions/0061).

-- The parent of a model call that may report the same tokens as this parent. If the parent reports a call too, the usage of this row is
-- null.
ALTER TABLE countersign.merged_spans ADD COLUMN parent_of_call text COLLATE "C";

CREATE INDEX merged_spans_by_parent_of_call ON countersign.merged_spans (tenant_id, trace, parent_of_call)
  WHERE parent_of_call IS NOT NULL;

CREATE OR REPLACE VIEW countersign.spans WITH (security_invoker = true) AS
SELECT DISTINCT ON (submission.tenant_id, submission.trace, span.said ->> 0)
       submission.tenant_id, submission.trace, span.said ->> 0 AS span_id, submission.number AS submission,
       coalesce((span.said ->> 13)::integer, span.place::integer - 1) AS ordinal,
       span.said ->> 1 AS kind, span.said ->> 2 AS name, span.said ->> 3 AS status, span.said ->> 4 AS model, span.said ->> 5 AS provider,
       (span.said ->> 6)::bigint AS prompt_tokens, (span.said ->> 7)::bigint AS completion_tokens, (span.said ->> 8)::bigint AS total_tokens,
       (span.said ->> 9)::numeric AS cost_usd, (span.said ->> 10)::bigint AS latency_ms,
       countersign.instant_of((span.said ->> 11)::bigint) AS started_at, countersign.instant_of((span.said ->> 12)::bigint) AS ended_at,
       span.said ->> 14 AS parent_of_call
  FROM countersign.trace_submissions AS submission
 CROSS JOIN LATERAL json_array_elements(submission.spans::json) WITH ORDINALITY AS span (said, place)
 ORDER BY submission.tenant_id, submission.trace, span.said ->> 0, submission.number DESC;
