-- Up Migration
-- The ids of runs for the search by any part of them (docs/decisions/0043). A segment holds the ids of some 500 runs in one text,
-- so that looking through 1,000,000 runs reads about 2,000 rows. Each batch of runs writes a segment in its own transaction, and the server
-- merges small segments while it runs. Every run is in exactly one segment.

CREATE TABLE countersign.run_id_segments (
  tenant_id uuid NOT NULL,
  source text NOT NULL CHECK (source IN ('trace', 'telemetry')),
  -- The lowest and the highest of `runs`. A submission of telemetry is never divided, so the highest one names the segment.
  first_run uuid NOT NULL,
  last_run uuid NOT NULL,
  run_count integer NOT NULL,
  -- traces.id, or submissions of telemetry.
  runs uuid[] NOT NULL,
  -- For each of `runs` its trace_id in lower case; for a submission those of its events, in their order. chr(29) divides runs, chr(10)
  -- divides events: no trace_id holds control characters.
  trace_ids text NOT NULL,
  PRIMARY KEY (tenant_id, source, last_run)
);
-- Segments to be merged.
CREATE INDEX run_id_segments_small ON countersign.run_id_segments (tenant_id, source, last_run) WHERE run_count < 256;

-- Compressing them costs more than it saves.
ALTER TABLE countersign.run_id_segments ALTER COLUMN trace_ids SET STORAGE EXTERNAL;
ALTER TABLE countersign.run_id_segments ALTER COLUMN runs SET STORAGE EXTERNAL;

ALTER TABLE countersign.run_id_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.run_id_segments FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.run_id_segments
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);

DO $$
DECLARE tenant uuid;
BEGIN
  FOR tenant IN SELECT id FROM countersign.tenants LOOP
    PERFORM set_config('countersign.tenant_id', tenant::text, true);
    INSERT INTO countersign.run_id_segments (tenant_id, source, first_run, last_run, run_count, runs, trace_ids)
    SELECT tenant, 'trace', (array_agg(id ORDER BY id))[1], (array_agg(id ORDER BY id DESC))[1], count(*), array_agg(id ORDER BY id),
           string_agg(lower(trace_id COLLATE "default"), chr(29) ORDER BY id)
      FROM (SELECT id, trace_id, (row_number() OVER (ORDER BY id) - 1) / 512 AS part FROM countersign.traces WHERE tenant_id = tenant) AS run
     GROUP BY part;
    INSERT INTO countersign.run_id_segments (tenant_id, source, first_run, last_run, run_count, runs, trace_ids)
    SELECT tenant, 'telemetry', (array_agg(submission ORDER BY submission))[1], (array_agg(submission ORDER BY submission DESC))[1], sum(events),
           array_agg(submission ORDER BY submission), string_agg(trace_ids, chr(29) ORDER BY submission)
      FROM (SELECT submission, count(*) AS events, string_agg(lower(trace_id COLLATE "default"), chr(10) ORDER BY ordinal) AS trace_ids,
                   (sum(count(*)) OVER (ORDER BY submission) - count(*))::bigint / 512 AS part
              FROM countersign.telemetry_events WHERE tenant_id = tenant GROUP BY submission) AS run
     GROUP BY part;
  END LOOP;
  PERFORM set_config('countersign.tenant_id', '', true);
END $$;
