-- Up Migration
-- What an append costs the database: look-ups of foreign keys that cannot fail, and a row for each span.

-- Rows of these tables are written in the transaction that locks or writes what they belong to: the head of their log, which names the
-- tenant, or their trace. No statement deletes any of those, and the server's role may not.
ALTER TABLE countersign.audit_entries DROP CONSTRAINT audit_entries_tenant_id_fkey;
ALTER TABLE countersign.decisions DROP CONSTRAINT decisions_tenant_id_fkey;
ALTER TABLE countersign.traces DROP CONSTRAINT traces_tenant_id_fkey;
ALTER TABLE countersign.trace_submissions DROP CONSTRAINT trace_submissions_tenant_id_trace_fkey;

-- What is searched and summed of a submission's spans, as one text: an array of arrays in the order of the view's columns from span_id on,
-- times in microseconds since 1970. A row a span cost as much as all the rest of a trace together (docs/performance.md).
ALTER TABLE countersign.trace_submissions ADD COLUMN spans text NOT NULL DEFAULT '[]';
ALTER TABLE countersign.trace_submissions ALTER COLUMN spans SET STORAGE EXTERNAL;
ALTER TABLE countersign.trace_submissions ALTER COLUMN spans DROP DEFAULT;

-- The append-only rule is lifted for this once, by the owner, to carry the rows over; the documents are not touched.
ALTER TABLE countersign.trace_submissions DISABLE TRIGGER append_only;
DO $$
DECLARE tenant uuid;
BEGIN
  FOR tenant IN SELECT id FROM countersign.tenants LOOP
    PERFORM set_config('countersign.tenant_id', tenant::text, true);
    UPDATE countersign.trace_submissions AS submission SET spans = summary.spans
      FROM (SELECT s.trace, s.submission, json_agg(json_build_array(s.span_id, s.kind, s.name, s.status, s.model, s.provider, s.prompt_tokens,
                     s.completion_tokens, s.total_tokens, s.cost_usd::text, s.latency_ms, (extract(epoch FROM s.started_at) * 1000000)::bigint,
                     (extract(epoch FROM s.ended_at) * 1000000)::bigint, s.ordinal) ORDER BY s.ordinal)::text AS spans
              FROM countersign.spans AS s WHERE s.tenant_id = tenant GROUP BY s.trace, s.submission) AS summary
     WHERE submission.tenant_id = tenant AND submission.trace = summary.trace AND submission.number = summary.submission;
  END LOOP;
  PERFORM set_config('countersign.tenant_id', '', true);
END $$;
ALTER TABLE countersign.trace_submissions ENABLE ALWAYS TRIGGER append_only;

DROP TABLE countersign.spans;

-- Microseconds since 1970 as an instant. By days and seconds: a double holds neither more exactly.
CREATE FUNCTION countersign.instant_of(micros bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (timestamp '1970-01-01' + make_interval(days => (micros / 86400000000)::integer, secs => (micros % 86400000000)::float8 / 1000000))
       AT TIME ZONE 'UTC';

-- The merged spans of traces: of each span_id the one of the latest submission; what it says at length is item `ordinal` of that
-- submission's document. Ask for single traces (trace = $1): the merging goes over all submissions that the condition leaves.
CREATE VIEW countersign.spans WITH (security_invoker = true) AS
SELECT DISTINCT ON (submission.tenant_id, submission.trace, span.said ->> 0)
       submission.tenant_id, submission.trace, span.said ->> 0 AS span_id, submission.number AS submission,
       coalesce((span.said ->> 13)::integer, span.place::integer - 1) AS ordinal,
       span.said ->> 1 AS kind, span.said ->> 2 AS name, span.said ->> 3 AS status, span.said ->> 4 AS model, span.said ->> 5 AS provider,
       (span.said ->> 6)::bigint AS prompt_tokens, (span.said ->> 7)::bigint AS completion_tokens, (span.said ->> 8)::bigint AS total_tokens,
       (span.said ->> 9)::numeric AS cost_usd, (span.said ->> 10)::bigint AS latency_ms,
       countersign.instant_of((span.said ->> 11)::bigint) AS started_at, countersign.instant_of((span.said ->> 12)::bigint) AS ended_at
  FROM countersign.trace_submissions AS submission
 CROSS JOIN LATERAL json_array_elements(submission.spans::json) WITH ORDINALITY AS span (said, place)
 ORDER BY submission.tenant_id, submission.trace, span.said ->> 0, submission.number DESC;
