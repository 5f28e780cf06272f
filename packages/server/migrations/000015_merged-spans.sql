-- Up Migration
-- What a trace with several submissions adds up to, kept as they come in. Merging one more submission reads the rows of its own span_ids
-- and no other submission (docs/decisions/0032). A trace with one submission has no row here.

-- The span that counts for each span_id: that of its latest submission.
CREATE TABLE countersign.merged_spans (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  span_id text COLLATE "C" NOT NULL,
  submission integer NOT NULL,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  cost_usd numeric,
  PRIMARY KEY (tenant_id, trace, span_id)
);

-- Sums over the merged spans of a trace, and how many of them report each. Where none does, the sum is unknown and not zero.
CREATE TABLE countersign.merged_traces (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  span_count bigint NOT NULL,
  prompt_tokens numeric NOT NULL,
  prompt_tokens_reported bigint NOT NULL,
  completion_tokens numeric NOT NULL,
  completion_tokens_reported bigint NOT NULL,
  total_tokens numeric NOT NULL,
  total_tokens_reported bigint NOT NULL,
  cost_usd numeric NOT NULL,
  cost_usd_reported bigint NOT NULL,
  PRIMARY KEY (tenant_id, trace)
);

DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['merged_spans', 'merged_traces'] LOOP
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE countersign.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY of_tenant ON countersign.%I
      USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
      WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)$policy$, name);
  END LOOP;
END $$;

DO $$
DECLARE tenant uuid;
BEGIN
  FOR tenant IN SELECT id FROM countersign.tenants LOOP
    PERFORM set_config('countersign.tenant_id', tenant::text, true);
    INSERT INTO countersign.merged_spans (tenant_id, trace, span_id, submission, prompt_tokens, completion_tokens, total_tokens, cost_usd)
    SELECT tenant, t.id, span.span_id, span.submission, span.prompt_tokens, span.completion_tokens, span.total_tokens, span.cost_usd
      FROM countersign.traces AS t
     CROSS JOIN LATERAL (SELECT * FROM countersign.spans AS s WHERE s.tenant_id = tenant AND s.trace = t.id OFFSET 0) AS span
     WHERE t.tenant_id = tenant AND t.submission_count > 1;
    INSERT INTO countersign.merged_traces
    SELECT tenant, t.id, count(m.span_id), coalesce(sum(m.prompt_tokens), 0), count(m.prompt_tokens), coalesce(sum(m.completion_tokens), 0),
           count(m.completion_tokens), coalesce(sum(m.total_tokens), 0), count(m.total_tokens), coalesce(sum(m.cost_usd), 0), count(m.cost_usd)
      FROM countersign.traces AS t LEFT JOIN countersign.merged_spans AS m ON m.tenant_id = tenant AND m.trace = t.id
     WHERE t.tenant_id = tenant AND t.submission_count > 1 GROUP BY t.id;
  END LOOP;
  PERFORM set_config('countersign.tenant_id', '', true);
END $$;
