-- Up Migration
-- The latest evaluation of each series of an agent (name, suite, harness), for the promotion check: it names the other suites that
-- the agent has. Looking for them among all evaluations of the agent has no bound.

-- A digest: names are longer than an index takes.
CREATE FUNCTION countersign.series_identity(name text, suite text, harness_id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(json_build_array(name, suite, harness_id)::text, 'UTF8'));

CREATE TABLE countersign.evaluation_series (
  tenant_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  identity bytea NOT NULL CHECK (octet_length(identity) = 32),
  seq bigint NOT NULL,
  evaluation_id uuid NOT NULL,
  name text NOT NULL,
  suite text,
  status text NOT NULL,
  pass_rate double precision,
  recorded_at timestamptz NOT NULL,
  evaluated_at timestamptz,
  PRIMARY KEY (tenant_id, agent_id, identity)
);
CREATE INDEX evaluation_series_latest ON countersign.evaluation_series (tenant_id, agent_id, seq);

ALTER TABLE countersign.evaluation_series ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.evaluation_series FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.evaluation_series
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);

-- Whether an agent has more than one series. Most have one, and their promotion checks then read nothing more.
ALTER TABLE countersign.agents ADD COLUMN several_series boolean NOT NULL DEFAULT false;

DO $$
DECLARE tenant uuid;
BEGIN
  FOR tenant IN SELECT id FROM countersign.tenants LOOP
    PERFORM set_config('countersign.tenant_id', tenant::text, true);
    INSERT INTO countersign.evaluation_series
    SELECT DISTINCT ON (agent_id, identity) tenant, agent_id, countersign.series_identity(name, suite, harness_id) AS identity, seq, id,
           name, suite, status, pass_rate, recorded_at, evaluated_at
      FROM countersign.evaluations WHERE tenant_id = tenant AND agent_id IS NOT NULL ORDER BY agent_id, identity, seq DESC;
    UPDATE countersign.agents AS a SET several_series = true
     WHERE a.tenant_id = tenant AND (
       SELECT count(*) FROM countersign.evaluation_series AS s WHERE s.tenant_id = tenant AND s.agent_id = a.id) > 1;
  END LOOP;
  PERFORM set_config('countersign.tenant_id', '', true);
END $$;
