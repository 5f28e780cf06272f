-- Up Migration
-- The order of evaluations, incidents and approvals is a number, not a moment: a clock that was wrong once must not decide which
-- evaluation is the latest, or whether it came after an incident (docs/decisions/0031).

-- One sequence numbers evaluations, incidents and approvals, so that their numbers can be compared.
CREATE SEQUENCE countersign.record_order;
SELECT setval('countersign.record_order', last_value) FROM countersign.evaluations_seq_seq;
ALTER TABLE countersign.evaluations ALTER COLUMN seq DROP IDENTITY;
ALTER TABLE countersign.evaluations ALTER COLUMN seq SET DEFAULT nextval('countersign.record_order');

ALTER TABLE countersign.incidents ADD COLUMN seq bigint;
ALTER TABLE countersign.recertifications ADD COLUMN opened_seq bigint;
ALTER TABLE countersign.approvals ADD COLUMN requested_seq bigint, ADD COLUMN decided_seq bigint,
  -- How many decisions there were when it was decided: those behind may have used it.
  ADD COLUMN decisions_size bigint;

-- What is there gets the highest number of the workspace's evaluations up to its moment. Where a clock was wrong once, that is not the
-- number of the last one by time. The append-only rule is lifted for this once, by the owner.
CREATE TABLE countersign.numbers_by_moment (moment timestamptz NOT NULL, number bigint NOT NULL);
CREATE INDEX numbers_by_moment_moment ON countersign.numbers_by_moment (moment, number);
CREATE FUNCTION countersign.number_at(at timestamptz) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT number FROM countersign.numbers_by_moment WHERE moment <= at ORDER BY moment DESC, number DESC LIMIT 1), 0) $$;
ALTER TABLE countersign.incidents DISABLE TRIGGER append_only;
DO $$
DECLARE tenant uuid;
BEGIN
  FOR tenant IN SELECT id FROM countersign.tenants LOOP
    PERFORM set_config('countersign.tenant_id', tenant::text, true);
    TRUNCATE countersign.numbers_by_moment;
    INSERT INTO countersign.numbers_by_moment
      SELECT recorded_at, max(seq) OVER (ORDER BY recorded_at, seq) FROM countersign.evaluations WHERE tenant_id = tenant;
    UPDATE countersign.incidents SET seq = countersign.number_at(opened_at) WHERE tenant_id = tenant;
    UPDATE countersign.recertifications AS r SET opened_seq = i.seq
      FROM countersign.incidents AS i WHERE r.tenant_id = tenant AND i.tenant_id = tenant AND i.id = r.incident_id;
    UPDATE countersign.approvals AS p SET
        requested_seq = countersign.number_at(p.requested_at),
        decided_seq = CASE WHEN p.decided_at IS NOT NULL THEN countersign.number_at(p.decided_at) END,
        decisions_size = CASE WHEN p.decided_at IS NOT NULL THEN coalesce((
          SELECT max(d.seq) FROM countersign.decisions AS d
           WHERE d.tenant_id = tenant AND d.evaluation_id = p.evaluation_id AND d.recorded_at < p.decided_at), 0) END
     WHERE p.tenant_id = tenant;
  END LOOP;
  PERFORM set_config('countersign.tenant_id', '', true);
END $$;
DROP FUNCTION countersign.number_at;
DROP TABLE countersign.numbers_by_moment;
ALTER TABLE countersign.incidents ENABLE ALWAYS TRIGGER append_only;

ALTER TABLE countersign.incidents ALTER COLUMN seq SET NOT NULL, ALTER COLUMN seq SET DEFAULT nextval('countersign.record_order');
ALTER TABLE countersign.recertifications ALTER COLUMN opened_seq SET NOT NULL;
ALTER TABLE countersign.approvals ALTER COLUMN requested_seq SET NOT NULL,
  ALTER COLUMN requested_seq SET DEFAULT nextval('countersign.record_order'),
  ADD CHECK ((decided_at IS NULL) = (decided_seq IS NULL) AND (decided_at IS NULL) = (decisions_size IS NULL));

DROP INDEX countersign.evaluations_latest, countersign.evaluations_latest_of_harness, countersign.evaluations_by_status,
  countersign.evaluations_of_harness;
CREATE INDEX evaluations_latest ON countersign.evaluations (tenant_id, agent_id, seq);
CREATE INDEX evaluations_latest_of_harness ON countersign.evaluations (tenant_id, agent_id, harness_id, seq);
CREATE INDEX evaluations_in_order ON countersign.evaluations (tenant_id, seq);
CREATE INDEX evaluations_by_status ON countersign.evaluations (tenant_id, status, seq);
CREATE INDEX evaluations_of_harness ON countersign.evaluations (tenant_id, harness_id, seq) WHERE harness_id IS NOT NULL;

DROP INDEX countersign.incidents_of_agent, countersign.incidents_by_time, countersign.incidents_by_severity, countersign.recertifications_by_age;
CREATE INDEX incidents_of_agent ON countersign.incidents (tenant_id, agent_id, seq, id);
CREATE INDEX incidents_in_order ON countersign.incidents (tenant_id, seq, id);
CREATE INDEX incidents_by_severity ON countersign.incidents (tenant_id, severity, seq, id);
CREATE INDEX recertifications_by_age ON countersign.recertifications (tenant_id, opened_seq, incident_id) WHERE closed_at IS NULL;

DROP INDEX countersign.approvals_queue, countersign.approvals_decided, countersign.approvals_of_agent;
CREATE INDEX approvals_queue ON countersign.approvals (tenant_id, requested_seq, evaluation_id) WHERE status = 'pending';
CREATE INDEX approvals_decided ON countersign.approvals (tenant_id, status, decided_seq, evaluation_id) WHERE status <> 'pending';
CREATE INDEX approvals_of_agent ON countersign.approvals (tenant_id, agent_id, decided_seq);
