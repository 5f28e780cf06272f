-- Up Migration
-- A model call can be reported by two spans, one below the other, that arrive in different exports (docs/decisions/0061).

-- For a model call that may report the same tokens as its parent: the span_id of the parent. If the parent reports a call too, the usage of
-- this row is null.
ALTER TABLE countersign.merged_spans ADD COLUMN parent_of_call text COLLATE "C";

CREATE INDEX merged_spans_by_parent_of_call ON countersign.merged_spans (tenant_id, trace, parent_of_call)
  WHERE parent_of_call IS NOT NULL;

CREATE OR REPLACE VIEW countersign.spans WITH (security_invoker = true) AS
SELECT DISTINCT ON (submission.tenant_id, submission.trace, span.fields ->> 0)
       submission.tenant_id, submission.trace, span.fields ->> 0 AS span_id, submission.number AS submission,
       coalesce((span.fields ->> 13)::integer, span.position::integer - 1) AS ordinal,
       span.fields ->> 1 AS kind, span.fields ->> 2 AS name, span.fields ->> 3 AS status, span.fields ->> 4 AS model,
       span.fields ->> 5 AS provider, (span.fields ->> 6)::bigint AS prompt_tokens, (span.fields ->> 7)::bigint AS completion_tokens,
       (span.fields ->> 8)::bigint AS total_tokens,
       (span.fields ->> 9)::numeric AS cost_usd, (span.fields ->> 10)::bigint AS latency_ms,
       countersign.instant_of((span.fields ->> 11)::bigint) AS started_at, countersign.instant_of((span.fields ->> 12)::bigint) AS ended_at,
       span.fields ->> 14 AS parent_of_call
  FROM countersign.trace_submissions AS submission
 CROSS JOIN LATERAL json_array_elements(submission.spans::json) WITH ORDINALITY AS span (fields, position)
 ORDER BY submission.tenant_id, submission.trace, span.fields ->> 0, submission.number DESC;
