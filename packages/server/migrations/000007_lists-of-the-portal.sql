-- Up Migration
-- The lists of the portal: each filter of each list finds its rows, in the list's order, by an index (docs/decisions/0017).
-- Ids are UUIDs of version 7, so the primary keys of traces and telemetry events are in the order of arrival already: the list without a
-- filter and the range of time need no index of their own, and neither do audit entries and decisions, whose numbers are in that order.

-- By code point on every database, so that a prefix is a range of the index that is there: no second one for the search.
ALTER TABLE countersign.traces ALTER COLUMN trace_id TYPE text COLLATE "C";
ALTER TABLE countersign.telemetry_events ALTER COLUMN trace_id TYPE text COLLATE "C";

CREATE INDEX traces_of_agent ON countersign.traces (tenant_id, agent_id, id);
-- Most runs go well, and then cost nothing here; those that went well are found soon by walking all.
CREATE INDEX traces_not_successful ON countersign.traces (tenant_id, outcome, id) WHERE outcome <> 'success';
CREATE INDEX traces_of_session ON countersign.traces (tenant_id, session_id, id) WHERE session_id IS NOT NULL;

CREATE INDEX telemetry_events_of_agent ON countersign.telemetry_events (tenant_id, agent_id, submission, ordinal);
CREATE INDEX telemetry_events_not_successful ON countersign.telemetry_events (tenant_id, outcome, submission, ordinal) WHERE outcome <> 'success';
CREATE INDEX telemetry_events_of_session ON countersign.telemetry_events (tenant_id, session_id, submission, ordinal) WHERE session_id IS NOT NULL;
CREATE INDEX telemetry_events_of_run ON countersign.telemetry_events (tenant_id, trace_id, submission, ordinal);

CREATE INDEX evaluations_by_time ON countersign.evaluations (tenant_id, recorded_at DESC, seq DESC);
CREATE INDEX evaluations_by_status ON countersign.evaluations (tenant_id, status, recorded_at DESC, seq DESC);
CREATE INDEX evaluations_of_harness ON countersign.evaluations (tenant_id, harness_id, recorded_at DESC, seq DESC) WHERE harness_id IS NOT NULL;

CREATE INDEX decisions_of_agent ON countersign.decisions (tenant_id, agent_id, seq);
CREATE INDEX decisions_by_reason ON countersign.decisions (tenant_id, reason, seq);
CREATE INDEX decisions_on_evaluation ON countersign.decisions (tenant_id, evaluation_id, seq) WHERE evaluation_id IS NOT NULL;

CREATE INDEX audit_entries_by_action ON countersign.audit_entries (tenant_id, action, seq);
CREATE INDEX audit_entries_by_actor ON countersign.audit_entries (tenant_id, actor, seq);
CREATE INDEX audit_entries_of_agent ON countersign.audit_entries (tenant_id, agent_id, seq) WHERE agent_id IS NOT NULL;
CREATE INDEX audit_entries_of_run ON countersign.audit_entries (tenant_id, trace_id, seq) WHERE trace_id IS NOT NULL;

DROP INDEX countersign.approvals_queue;
CREATE INDEX approvals_queue ON countersign.approvals (tenant_id, requested_at, evaluation_id) WHERE status = 'pending';
CREATE INDEX approvals_decided ON countersign.approvals (tenant_id, status, decided_at, evaluation_id) WHERE status <> 'pending';
CREATE INDEX approvals_of_agent ON countersign.approvals (tenant_id, agent_id, decided_at);

CREATE INDEX incidents_by_time ON countersign.incidents (tenant_id, opened_at, id);
CREATE INDEX incidents_by_severity ON countersign.incidents (tenant_id, severity, opened_at, id);
CREATE INDEX recertifications_by_age ON countersign.recertifications (tenant_id, opened_at, incident_id) WHERE closed_at IS NULL;

CREATE INDEX key_events_of_key ON countersign.key_events (tenant_id, key_id, seq);
