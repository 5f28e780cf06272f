-- Made by packages/server/test/database/schema.test.ts from a migrated database; renew it with -u and read its diff.

-- columns
agents.tenant_id uuid not null
agents.id uuid not null
agents.name text not null
agents.risk_level text not null default 'low'::text
agents.created_at timestamp with time zone not null default clock_timestamp()
agents.archived_at timestamp with time zone
agents.name_skeleton bytea
agents.name_skeleton_caseless bytea
approvals.tenant_id uuid not null
approvals.evaluation_id uuid not null
approvals.agent_id uuid not null
approvals.status text not null
approvals.requested_at timestamp with time zone not null default clock_timestamp()
approvals.requested_by text not null
approvals.decided_at timestamp with time zone
approvals.decided_by text
approvals.rationale text
approvals.requested_seq bigint not null default nextval('countersign.record_order'::regclass)
approvals.decided_seq bigint
audit_entries.tenant_id uuid not null
audit_entries.seq bigint not null
audit_entries.id uuid not null
audit_entries.recorded_at timestamp with time zone not null
audit_entries.recorded_by text not null
audit_entries.actor text not null
audit_entries.action text not null
audit_entries.trace_id text
audit_entries.agent_id uuid
audit_entries.prev_hash bytea
audit_entries.row_hash bytea not null
audit_entries.document text not null
checkpoints.tenant_id uuid not null
checkpoints.log text not null
checkpoints.size bigint not null
checkpoints.root bytea not null
checkpoints.signed_at timestamp with time zone not null default clock_timestamp()
checkpoints.note text not null
decision_keys.tenant_id uuid not null
decision_keys.key_id text not null
decision_keys.created_at timestamp with time zone not null
decision_keys.retired_at timestamp with time zone
decision_keys.seal bytea not null
decisions.tenant_id uuid not null
decisions.seq bigint not null
decisions.id uuid not null
decisions.recorded_at timestamp with time zone not null
decisions.recorded_by text not null
decisions.agent_id uuid
decisions.evaluation_id uuid
decisions.allowed boolean not null
decisions.reason text not null
decisions.event text not null
decisions.response_sha256 bytea not null
decisions.document text not null
decisions.evidence text not null
document_segments.tenant_id uuid not null
document_segments.id uuid not null
document_segments.bytes integer not null
document_segments.compressed bytea not null storage external
dropped_traces.tenant_id uuid not null
dropped_traces.trace uuid not null
dropped_traces.seq bigint not null
evaluated_runs.tenant_id uuid not null
evaluated_runs.trace_id text not null
evaluated_runs.evaluation uuid not null
evaluations.tenant_id uuid not null
evaluations.id uuid not null
evaluations.seq bigint not null default nextval('countersign.record_order'::regclass)
evaluations.recorded_at timestamp with time zone not null
evaluations.recorded_by text not null
evaluations.agent_id uuid
evaluations.harness_id uuid
evaluations.name text not null
evaluations.category text
evaluations.status text not null
evaluations.pass_rate double precision
evaluations.severity_threshold double precision
evaluations.document text not null
evaluations.evaluated_at timestamp with time zone
evaluations.suite text
evaluations.completeness text
evaluations.artifact text
evidence_events.tenant_id uuid not null
evidence_events.seq bigint not null
evidence_events.event_hash bytea not null
evidence_events.document text not null
export_runs.tenant_id uuid not null
export_runs.trace_id text not null
export_runs.export uuid not null
idempotency_keys.tenant_id uuid not null
idempotency_keys.path text not null
idempotency_keys.key text not null
idempotency_keys.body_sha256 bytea not null
idempotency_keys.answer text not null
idempotency_keys.headers text not null
idempotency_keys.created_at timestamp with time zone not null
idempotency_keys.seal bytea not null
incidents.tenant_id uuid not null
incidents.id uuid not null
incidents.agent_id uuid not null
incidents.severity text not null
incidents.description text not null
incidents.opened_at timestamp with time zone not null default clock_timestamp()
incidents.opened_by text not null
incidents.seq bigint not null default nextval('countersign.record_order'::regclass)
ingestion_keys.prefix text not null
ingestion_keys.tenant_id uuid not null
ingestion_keys.id uuid not null
ingestion_keys.name text not null
ingestion_keys.scopes text[] not null
ingestion_keys.secret_sha256 bytea not null
ingestion_keys.created_at timestamp with time zone not null default clock_timestamp()
ingestion_keys.rotated_at timestamp with time zone
ingestion_keys.expires_at timestamp with time zone
ingestion_keys.revoked_at timestamp with time zone
ingestion_keys.kind text not null default 'live'::text
instance.only_row boolean not null default true
instance.id uuid not null
instance.master_secret_fingerprint text not null
instance.signing_key_fingerprint text not null
instance.created_at timestamp with time zone not null default clock_timestamp()
instance.seal bytea not null
key_events.tenant_id uuid not null
key_events.seq bigint not null
key_events.id uuid not null
key_events.recorded_at timestamp with time zone not null
key_events.recorded_by text not null
key_events.action text not null
key_events.key_id uuid not null
key_events.document text not null
key_events.event_hash bytea not null
key_last_use.tenant_id uuid not null
key_last_use.key_id uuid not null
key_last_use.last_used_at timestamp with time zone not null
log_heads.tenant_id uuid not null
log_heads.log text not null
log_heads.seq bigint not null default 0
log_heads.row_hash bytea
log_heads.last_recorded_at timestamp with time zone not null default '-infinity'::timestamp with time zone
log_heads.tree_size bigint not null default 0
log_heads.frontier bytea not null default '\x'::bytea
log_heads.seal bytea not null
log_records.tenant_id uuid not null
log_records.trace_id text not null
log_records.span_id text not null
log_records.sha256 bytea not null
log_records.kind text not null
log_records.happened_at timestamp with time zone
log_records.place integer not null
log_records.received_at timestamp with time zone not null
log_records.recorded_by text not null
log_records.export uuid
log_records.document text not null
log_records.joined boolean not null
memberships.tenant_id uuid not null
memberships.person_id uuid not null
memberships.role text not null
memberships.joined_at timestamp with time zone not null
memberships.seal bytea not null
merged_spans.tenant_id uuid not null
merged_spans.trace uuid not null
merged_spans.span_id text not null
merged_spans.submission integer not null
merged_spans.prompt_tokens bigint
merged_spans.completion_tokens bigint
merged_spans.total_tokens bigint
merged_spans.cost_usd numeric
merged_spans.parent_of_call text
merged_traces.tenant_id uuid not null
merged_traces.trace uuid not null
merged_traces.span_count bigint not null
merged_traces.prompt_tokens numeric not null
merged_traces.prompt_tokens_reported bigint not null
merged_traces.completion_tokens numeric not null
merged_traces.completion_tokens_reported bigint not null
merged_traces.total_tokens numeric not null
merged_traces.total_tokens_reported bigint not null
merged_traces.cost_usd numeric not null
merged_traces.cost_usd_reported bigint not null
migrations.id integer not null default nextval('countersign.migrations_id_seq'::regclass)
migrations.name character varying(255) not null
migrations.run_on timestamp without time zone not null
one_time_links.token_sha256 bytea not null
one_time_links.id uuid not null
one_time_links.purpose text not null
one_time_links.tenant_id uuid
one_time_links.person_id uuid
one_time_links.email text
one_time_links.role text
one_time_links.made_by text not null
one_time_links.created_at timestamp with time zone not null
one_time_links.expires_at timestamp with time zone not null
one_time_links.seal bytea not null
otlp_exports.tenant_id uuid not null
otlp_exports.id uuid not null
otlp_exports.signal text not null
otlp_exports.received_at timestamp with time zone not null
otlp_exports.recorded_by text not null
otlp_exports.media_type text not null
otlp_exports.redacted boolean not null
otlp_exports.body bytea storage external
otlp_exports.segment uuid
otlp_exports.segment_offset integer
otlp_exports.segment_length integer
people.id uuid not null
people.email text not null
people.name text not null
people.password text
people.created_at timestamp with time zone not null default clock_timestamp()
people.password_changed_at timestamp with time zone
people.seal bytea not null
recertifications.tenant_id uuid not null
recertifications.incident_id uuid not null
recertifications.agent_id uuid not null
recertifications.opened_at timestamp with time zone not null
recertifications.closed_at timestamp with time zone
recertifications.closed_by text
recertifications.rationale text
recertifications.evaluation_id uuid
recertifications.opened_seq bigint not null
retention_periods.tenant_id uuid not null
retention_periods.number integer not null
retention_periods.since timestamp with time zone not null
retention_periods.trace_days integer
retention_periods.telemetry_days integer
retention_periods.entry_seq bigint not null
retention_periods.seal bytea not null
run_id_segments.tenant_id uuid not null
run_id_segments.source text not null
run_id_segments.first_run uuid not null
run_id_segments.last_run uuid not null
run_id_segments.run_count integer not null
run_id_segments.runs uuid[] not null storage external
run_id_segments.trace_ids text not null storage external
sessions.token_sha256 bytea not null
sessions.id uuid not null
sessions.person_id uuid not null
sessions.created_at timestamp with time zone not null
sessions.last_used_at timestamp with time zone not null default clock_timestamp()
sessions.expires_at timestamp with time zone not null
sessions.user_agent text
sessions.seal bytea not null
sign_in_attempts.subject bytea not null
sign_in_attempts.window_began_at timestamp with time zone not null default clock_timestamp()
sign_in_attempts.attempts integer not null default 1
signing_keys.kid text not null
signing_keys.public_key bytea not null
signing_keys.created_at timestamp with time zone not null
signing_keys.retired_at timestamp with time zone
signing_keys.signs_since timestamp with time zone
signing_keys.seal bytea not null
signing_keys.predecessor text
signing_keys.predecessor_signature bytea
signing_keys.reset_from text
telemetry_events.tenant_id uuid not null
telemetry_events.submission uuid not null
telemetry_events.ordinal integer not null
telemetry_events.trace_id text not null
telemetry_events.outcome text not null
telemetry_events.status text
telemetry_events.agent_id uuid
telemetry_events.model text
telemetry_events.provider text
telemetry_events.session_id text
telemetry_events.external_user_id text
telemetry_events.latency_ms bigint
telemetry_events.tool_count bigint
telemetry_events.prompt_tokens bigint
telemetry_events.completion_tokens bigint
telemetry_events.total_tokens bigint
telemetry_events.cost_usd numeric
telemetry_events.has_error boolean not null
telemetry_events.started_at timestamp with time zone
telemetry_events.ended_at timestamp with time zone
telemetry_events.received_at timestamp with time zone not null
telemetry_submissions.tenant_id uuid not null
telemetry_submissions.id uuid not null
telemetry_submissions.received_at timestamp with time zone not null
telemetry_submissions.recorded_by text not null
telemetry_submissions.document text storage external
telemetry_submissions.segment uuid
telemetry_submissions.segment_offset integer
telemetry_submissions.segment_length integer
tenants.id uuid not null
tenants.name text not null
tenants.created_at timestamp with time zone not null
tenants.seal bytea not null
trace_events.tenant_id uuid not null
trace_events.seq bigint not null
trace_events.event_hash bytea not null
trace_events.document text not null storage external
trace_submissions.tenant_id uuid not null
trace_submissions.trace uuid not null
trace_submissions.number integer not null
trace_submissions.received_at timestamp with time zone not null
trace_submissions.recorded_by text not null
trace_submissions.document text storage external
trace_submissions.spans text not null
trace_submissions.export uuid
trace_submissions.segment uuid
trace_submissions.segment_offset integer
trace_submissions.segment_length integer
traces.tenant_id uuid not null
traces.id uuid not null
traces.trace_id text not null
traces.agent_id uuid
traces.outcome text
traces.session_id text
traces.external_user_id text
traces.latency_ms bigint
traces.has_error boolean not null
traces.started_at timestamp with time zone
traces.ended_at timestamp with time zone
traces.supplied_prompt_tokens bigint
traces.supplied_completion_tokens bigint
traces.supplied_total_tokens bigint
traces.supplied_cost_usd numeric
traces.prompt_tokens bigint
traces.completion_tokens bigint
traces.total_tokens bigint
traces.cost_usd numeric
traces.span_count bigint not null
traces.submission_count integer not null
traces.received_at timestamp with time zone not null
traces.outcome_rank smallint not null default 3
traces.agent_rank smallint not null default 4
traces.provisional_agent_name text
traces.last_span_at timestamp with time zone
tree_nodes.tenant_id uuid not null
tree_nodes.log text not null
tree_nodes.level smallint not null
tree_nodes.index bigint not null
tree_nodes.hash bytea not null

-- constraints
countersign.agents agents_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 512)))
countersign.agents agents_name_skeleton_caseless_check CHECK ((octet_length(name_skeleton_caseless) = 32))
countersign.agents agents_name_skeleton_check CHECK ((octet_length(name_skeleton) = 32))
countersign.agents agents_pkey PRIMARY KEY (tenant_id, id)
countersign.agents agents_risk_level_check CHECK ((risk_level = ANY (ARRAY['low'::text, 'high'::text])))
countersign.agents agents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.agents agents_tenant_id_name_key UNIQUE (tenant_id, name)
countersign.approvals approvals_check CHECK (((status = 'pending'::text) = (decided_at IS NULL)))
countersign.approvals approvals_check1 CHECK (((status = 'pending'::text) OR ((decided_by IS NOT NULL) AND (rationale IS NOT NULL))))
countersign.approvals approvals_check2 CHECK (((decided_at IS NULL) = (decided_seq IS NULL)))
countersign.approvals approvals_pkey PRIMARY KEY (tenant_id, evaluation_id)
countersign.approvals approvals_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text])))
countersign.approvals approvals_tenant_id_agent_id_fkey FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents(tenant_id, id)
countersign.approvals approvals_tenant_id_evaluation_id_fkey FOREIGN KEY (tenant_id, evaluation_id) REFERENCES countersign.evaluations(tenant_id, id)
countersign.audit_entries audit_entries_first_has_no_prev CHECK (((seq = 1) = (prev_hash IS NULL)))
countersign.audit_entries audit_entries_no_fork UNIQUE NULLS NOT DISTINCT (tenant_id, prev_hash)
countersign.audit_entries audit_entries_pkey PRIMARY KEY (tenant_id, seq)
countersign.audit_entries audit_entries_prev_hash_check CHECK ((octet_length(prev_hash) = 32))
countersign.audit_entries audit_entries_row_hash_check CHECK ((octet_length(row_hash) = 32))
countersign.audit_entries audit_entries_seq_check CHECK ((seq > 0))
countersign.audit_entries audit_entries_tenant_id_id_key UNIQUE (tenant_id, id)
countersign.checkpoints checkpoints_log_check CHECK ((log = ANY (ARRAY['audit'::text, 'decisions'::text, 'evidence'::text, 'keys'::text, 'traces'::text])))
countersign.checkpoints checkpoints_pkey PRIMARY KEY (tenant_id, log, size)
countersign.checkpoints checkpoints_root_check CHECK ((octet_length(root) = 32))
countersign.checkpoints checkpoints_size_check CHECK ((size >= 0))
countersign.checkpoints checkpoints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.decision_keys decision_keys_pkey PRIMARY KEY (tenant_id, key_id)
countersign.decision_keys decision_keys_seal_check CHECK ((octet_length(seal) = 33))
countersign.decision_keys decision_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.decisions decisions_pkey PRIMARY KEY (tenant_id, seq)
countersign.decisions decisions_response_sha256_check CHECK ((octet_length(response_sha256) = 32))
countersign.decisions decisions_seq_check CHECK ((seq > 0))
countersign.decisions decisions_tenant_id_id_key UNIQUE (tenant_id, id)
countersign.document_segments document_segments_bytes_check CHECK ((bytes > 0))
countersign.document_segments document_segments_pkey PRIMARY KEY (tenant_id, id)
countersign.dropped_traces dropped_traces_pkey PRIMARY KEY (tenant_id, trace)
countersign.evaluated_runs evaluated_runs_pkey PRIMARY KEY (tenant_id, trace_id, evaluation)
countersign.evaluations evaluations_completeness_check CHECK ((completeness = ANY (ARRAY['complete'::text, 'partial'::text, 'unknown'::text])))
countersign.evaluations evaluations_pass_rate_check CHECK (((pass_rate >= (0)::double precision) AND (pass_rate <= (100)::double precision)))
countersign.evaluations evaluations_pkey PRIMARY KEY (tenant_id, id)
countersign.evaluations evaluations_status_check CHECK ((status = ANY (ARRAY['scheduled'::text, 'running'::text, 'passing'::text, 'failing'::text])))
countersign.evaluations evaluations_tenant_id_agent_id_fkey FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents(tenant_id, id)
countersign.evaluations evaluations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.evidence_events evidence_events_event_hash_check CHECK ((octet_length(event_hash) = 32))
countersign.evidence_events evidence_events_pkey PRIMARY KEY (tenant_id, seq)
countersign.evidence_events evidence_events_seq_check CHECK ((seq > 0))
countersign.evidence_events evidence_events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.export_runs export_runs_pkey PRIMARY KEY (tenant_id, trace_id, export)
countersign.idempotency_keys idempotency_keys_body_sha256_check CHECK ((octet_length(body_sha256) = 32))
countersign.idempotency_keys idempotency_keys_pkey PRIMARY KEY (tenant_id, path, key)
countersign.idempotency_keys idempotency_keys_seal_check CHECK ((octet_length(seal) = 33))
countersign.idempotency_keys idempotency_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.incidents incidents_description_check CHECK (((char_length(description) >= 1) AND (char_length(description) <= 65536)))
countersign.incidents incidents_pkey PRIMARY KEY (tenant_id, id)
countersign.incidents incidents_severity_check CHECK ((severity = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text, 'critical'::text])))
countersign.incidents incidents_tenant_id_agent_id_fkey FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents(tenant_id, id)
countersign.ingestion_keys ingestion_keys_kind_check CHECK ((kind = ANY (ARRAY['live'::text, 'read'::text])))
countersign.ingestion_keys ingestion_keys_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 512)))
countersign.ingestion_keys ingestion_keys_pkey PRIMARY KEY (prefix)
countersign.ingestion_keys ingestion_keys_prefix_check CHECK ((prefix ~ '^[0-9a-f]{12}$'::text))
countersign.ingestion_keys ingestion_keys_scopes_check CHECK (((cardinality(scopes) > 0) AND
CASE kind
    WHEN 'live'::text THEN (scopes <@ ARRAY['telemetry'::text, 'evaluations'::text, 'audit'::text, 'governance'::text])
    ELSE (scopes = ARRAY['read'::text])
END))
countersign.ingestion_keys ingestion_keys_secret_sha256_check CHECK ((octet_length(secret_sha256) = 32))
countersign.ingestion_keys ingestion_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.ingestion_keys ingestion_keys_tenant_id_id_key UNIQUE (tenant_id, id)
countersign.instance instance_only_row_check CHECK (only_row)
countersign.instance instance_pkey PRIMARY KEY (only_row)
countersign.instance instance_seal_check CHECK ((octet_length(seal) = 33))
countersign.key_events key_events_action_check CHECK ((action = ANY (ARRAY['minted'::text, 'rotated'::text, 'revoked'::text, 'scopes_changed'::text])))
countersign.key_events key_events_event_hash_check CHECK ((octet_length(event_hash) = 32))
countersign.key_events key_events_pkey PRIMARY KEY (tenant_id, seq)
countersign.key_events key_events_seq_check CHECK ((seq > 0))
countersign.key_events key_events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.key_last_use key_last_use_pkey PRIMARY KEY (tenant_id, key_id)
countersign.key_last_use key_last_use_tenant_id_key_id_fkey FOREIGN KEY (tenant_id, key_id) REFERENCES countersign.ingestion_keys(tenant_id, id)
countersign.log_heads log_heads_frontier_check CHECK (((octet_length(frontier) % 32) = 0))
countersign.log_heads log_heads_log_check CHECK ((log = ANY (ARRAY['audit'::text, 'decisions'::text, 'evidence'::text, 'keys'::text, 'traces'::text])))
countersign.log_heads log_heads_pkey PRIMARY KEY (tenant_id, log)
countersign.log_heads log_heads_row_hash_check CHECK ((octet_length(row_hash) = 32))
countersign.log_heads log_heads_seal_check CHECK ((octet_length(seal) = 33))
countersign.log_heads log_heads_seq_check CHECK ((seq >= 0))
countersign.log_heads log_heads_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.log_heads log_heads_tree_size_check CHECK ((tree_size >= 0))
countersign.log_records log_records_kind_check CHECK ((kind = ANY (ARRAY['content'::text, 'exception'::text, 'finding'::text])))
countersign.log_records log_records_pkey PRIMARY KEY (tenant_id, trace_id, span_id, sha256)
countersign.log_records log_records_sha256_check CHECK ((octet_length(sha256) = 32))
countersign.memberships memberships_person_id_fkey FOREIGN KEY (person_id) REFERENCES countersign.people(id)
countersign.memberships memberships_pkey PRIMARY KEY (tenant_id, person_id)
countersign.memberships memberships_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'approver'::text, 'admin'::text])))
countersign.memberships memberships_seal_check CHECK ((octet_length(seal) = 33))
countersign.memberships memberships_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.merged_spans merged_spans_pkey PRIMARY KEY (tenant_id, trace, span_id)
countersign.merged_traces merged_traces_pkey PRIMARY KEY (tenant_id, trace)
countersign.migrations migrations_pkey PRIMARY KEY (id)
countersign.one_time_links one_time_links_check CHECK (
CASE purpose
    WHEN 'set_up'::text THEN (person_id IS NULL)
    WHEN 'invitation'::text THEN ((tenant_id IS NOT NULL) AND (email IS NOT NULL) AND (role IS NOT NULL))
    ELSE (person_id IS NOT NULL)
END)
countersign.one_time_links one_time_links_id_key UNIQUE (id)
countersign.one_time_links one_time_links_person_id_fkey FOREIGN KEY (person_id) REFERENCES countersign.people(id)
countersign.one_time_links one_time_links_pkey PRIMARY KEY (token_sha256)
countersign.one_time_links one_time_links_purpose_check CHECK ((purpose = ANY (ARRAY['set_up'::text, 'invitation'::text, 'password_reset'::text, 'sign_in'::text])))
countersign.one_time_links one_time_links_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'approver'::text, 'admin'::text])))
countersign.one_time_links one_time_links_seal_check CHECK ((octet_length(seal) = 33))
countersign.one_time_links one_time_links_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.one_time_links one_time_links_token_sha256_check CHECK ((octet_length(token_sha256) = 32))
countersign.otlp_exports body_in_one_place CHECK (((num_nonnulls(body, segment) = 1) AND (num_nulls(segment, segment_offset, segment_length) = ANY (ARRAY[0, 3]))))
countersign.otlp_exports otlp_exports_media_type_check CHECK ((media_type = ANY (ARRAY['application/x-protobuf'::text, 'application/json'::text])))
countersign.otlp_exports otlp_exports_pkey PRIMARY KEY (tenant_id, id)
countersign.otlp_exports otlp_exports_signal_check CHECK ((signal = ANY (ARRAY['traces'::text, 'logs'::text])))
countersign.people people_email_check CHECK (((char_length(email) >= 3) AND (char_length(email) <= 254)))
countersign.people people_email_key UNIQUE (email)
countersign.people people_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 512)))
countersign.people people_password_check CHECK ((password ~~ '$argon2id$%'::text))
countersign.people people_pkey PRIMARY KEY (id)
countersign.people people_seal_check CHECK ((octet_length(seal) = 33))
countersign.recertifications recertifications_check CHECK ((((closed_at IS NULL) = (evaluation_id IS NULL)) AND ((closed_at IS NULL) = (closed_by IS NULL)) AND ((closed_at IS NULL) = (rationale IS NULL))))
countersign.recertifications recertifications_pkey PRIMARY KEY (tenant_id, incident_id)
countersign.recertifications recertifications_tenant_id_agent_id_fkey FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents(tenant_id, id)
countersign.recertifications recertifications_tenant_id_evaluation_id_fkey FOREIGN KEY (tenant_id, evaluation_id) REFERENCES countersign.evaluations(tenant_id, id)
countersign.recertifications recertifications_tenant_id_incident_id_fkey FOREIGN KEY (tenant_id, incident_id) REFERENCES countersign.incidents(tenant_id, id)
countersign.retention_periods retention_periods_number_check CHECK ((number > 0))
countersign.retention_periods retention_periods_pkey PRIMARY KEY (tenant_id, number)
countersign.retention_periods retention_periods_seal_check CHECK ((octet_length(seal) = 33))
countersign.retention_periods retention_periods_telemetry_days_check CHECK ((telemetry_days > 0))
countersign.retention_periods retention_periods_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.retention_periods retention_periods_trace_days_check CHECK ((trace_days > 0))
countersign.run_id_segments run_id_segments_pkey PRIMARY KEY (tenant_id, source, last_run)
countersign.run_id_segments run_id_segments_source_check CHECK ((source = ANY (ARRAY['trace'::text, 'telemetry'::text])))
countersign.sessions sessions_id_key UNIQUE (id)
countersign.sessions sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES countersign.people(id)
countersign.sessions sessions_pkey PRIMARY KEY (token_sha256)
countersign.sessions sessions_seal_check CHECK ((octet_length(seal) = 33))
countersign.sessions sessions_token_sha256_check CHECK ((octet_length(token_sha256) = 32))
countersign.sign_in_attempts sign_in_attempts_attempts_check CHECK ((attempts >= 0))
countersign.sign_in_attempts sign_in_attempts_pkey PRIMARY KEY (subject)
countersign.sign_in_attempts sign_in_attempts_subject_check CHECK ((octet_length(subject) = 32))
countersign.signing_keys signing_keys_pkey PRIMARY KEY (kid)
countersign.signing_keys signing_keys_predecessor_signature_check CHECK ((octet_length(predecessor_signature) = 64))
countersign.signing_keys signing_keys_public_key_check CHECK ((octet_length(public_key) = 32))
countersign.signing_keys signing_keys_seal_check CHECK ((octet_length(seal) = 33))
countersign.telemetry_events telemetry_events_pkey PRIMARY KEY (tenant_id, submission, ordinal)
countersign.telemetry_submissions document_in_one_place CHECK (((num_nonnulls(document, segment) = 1) AND (num_nulls(segment, segment_offset, segment_length) = ANY (ARRAY[0, 3]))))
countersign.telemetry_submissions telemetry_submissions_pkey PRIMARY KEY (tenant_id, id)
countersign.telemetry_submissions telemetry_submissions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.tenants tenants_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 512)))
countersign.tenants tenants_pkey PRIMARY KEY (id)
countersign.tenants tenants_seal_check CHECK ((octet_length(seal) = 33))
countersign.trace_events trace_events_event_hash_check CHECK ((octet_length(event_hash) = 32))
countersign.trace_events trace_events_pkey PRIMARY KEY (tenant_id, seq)
countersign.trace_events trace_events_seq_check CHECK ((seq > 0))
countersign.trace_events trace_events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)
countersign.trace_submissions document_in_one_place CHECK (((num_nonnulls(document, segment) = 1) AND (num_nulls(segment, segment_offset, segment_length) = ANY (ARRAY[0, 3]))))
countersign.trace_submissions trace_submissions_number_check CHECK ((number > 0))
countersign.trace_submissions trace_submissions_pkey PRIMARY KEY (tenant_id, trace, number)
countersign.traces traces_agent_rank_check CHECK (((agent_rank >= 0) AND (agent_rank <= 4)))
countersign.traces traces_outcome_check CHECK ((outcome = ANY (ARRAY['success'::text, 'failure'::text, 'escalated'::text, 'blocked'::text])))
countersign.traces traces_outcome_rank_check CHECK (((outcome_rank >= 0) AND (outcome_rank <= 3)))
countersign.traces traces_pkey PRIMARY KEY (tenant_id, id)
countersign.traces traces_tenant_id_agent_id_fkey FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents(tenant_id, id)
countersign.traces traces_tenant_id_trace_id_key UNIQUE (tenant_id, trace_id)
countersign.tree_nodes tree_nodes_hash_check CHECK ((octet_length(hash) = 32))
countersign.tree_nodes tree_nodes_index_check CHECK ((index >= 0))
countersign.tree_nodes tree_nodes_level_check CHECK (((level > 0) AND (((level)::integer % 8) = 0)))
countersign.tree_nodes tree_nodes_log_check CHECK ((log = ANY (ARRAY['audit'::text, 'decisions'::text, 'evidence'::text, 'keys'::text, 'traces'::text])))
countersign.tree_nodes tree_nodes_pkey PRIMARY KEY (tenant_id, log, level, index)
countersign.tree_nodes tree_nodes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants(id)

-- indexes
CREATE INDEX agents_name_skeleton ON countersign.agents USING btree (tenant_id, name_skeleton, created_at, id)
CREATE INDEX agents_name_skeleton_caseless ON countersign.agents USING btree (tenant_id, name_skeleton_caseless, created_at, id)
CREATE INDEX agents_without_skeleton ON countersign.agents USING btree (tenant_id, id) WHERE (name_skeleton IS NULL)
CREATE INDEX approvals_decided ON countersign.approvals USING btree (tenant_id, status, decided_seq, evaluation_id) WHERE (status <> 'pending'::text)
CREATE INDEX approvals_of_agent ON countersign.approvals USING btree (tenant_id, agent_id, decided_seq)
CREATE INDEX approvals_queue ON countersign.approvals USING btree (tenant_id, requested_seq, evaluation_id) WHERE (status = 'pending'::text)
CREATE INDEX audit_entries_by_action ON countersign.audit_entries USING btree (tenant_id, action, seq)
CREATE INDEX audit_entries_by_actor ON countersign.audit_entries USING btree (tenant_id, actor, seq)
CREATE INDEX audit_entries_of_agent ON countersign.audit_entries USING btree (tenant_id, agent_id, seq) WHERE (agent_id IS NOT NULL)
CREATE INDEX audit_entries_of_run ON countersign.audit_entries USING btree (tenant_id, trace_id, seq) WHERE (trace_id IS NOT NULL)
CREATE INDEX decisions_by_reason ON countersign.decisions USING btree (tenant_id, reason, seq)
CREATE INDEX decisions_of_agent ON countersign.decisions USING btree (tenant_id, agent_id, seq)
CREATE INDEX decisions_on_evaluation ON countersign.decisions USING btree (tenant_id, evaluation_id, seq) WHERE (evaluation_id IS NOT NULL)
CREATE INDEX evaluations_by_status ON countersign.evaluations USING btree (tenant_id, status, seq)
CREATE INDEX evaluations_by_time ON countersign.evaluations USING btree (tenant_id, recorded_at DESC, seq DESC)
CREATE INDEX evaluations_in_order ON countersign.evaluations USING btree (tenant_id, seq)
CREATE INDEX evaluations_latest ON countersign.evaluations USING btree (tenant_id, agent_id, seq)
CREATE INDEX evaluations_latest_of_harness ON countersign.evaluations USING btree (tenant_id, agent_id, harness_id, seq)
CREATE INDEX evaluations_of_harness ON countersign.evaluations USING btree (tenant_id, harness_id, seq) WHERE (harness_id IS NOT NULL)
CREATE INDEX export_runs_by_export ON countersign.export_runs USING btree (tenant_id, export)
CREATE INDEX idempotency_keys_by_age ON countersign.idempotency_keys USING btree (tenant_id, created_at)
CREATE INDEX incidents_by_severity ON countersign.incidents USING btree (tenant_id, severity, seq, id)
CREATE INDEX incidents_in_order ON countersign.incidents USING btree (tenant_id, seq, id)
CREATE INDEX incidents_of_agent ON countersign.incidents USING btree (tenant_id, agent_id, seq, id)
CREATE INDEX ingestion_keys_of_tenant ON countersign.ingestion_keys USING btree (tenant_id, created_at)
CREATE INDEX key_events_of_key ON countersign.key_events USING btree (tenant_id, key_id, seq)
CREATE INDEX log_records_waiting ON countersign.log_records USING btree (tenant_id, received_at) WHERE (NOT joined)
CREATE INDEX memberships_of_person ON countersign.memberships USING btree (person_id, tenant_id)
CREATE INDEX merged_spans_by_parent_of_call ON countersign.merged_spans USING btree (tenant_id, trace, parent_of_call) WHERE (parent_of_call IS NOT NULL)
CREATE INDEX one_time_links_by_end ON countersign.one_time_links USING btree (expires_at)
CREATE INDEX one_time_links_of_person ON countersign.one_time_links USING btree (person_id)
CREATE INDEX one_time_links_of_tenant ON countersign.one_time_links USING btree (tenant_id, purpose, created_at)
CREATE INDEX recertifications_by_age ON countersign.recertifications USING btree (tenant_id, opened_seq, incident_id) WHERE (closed_at IS NULL)
CREATE INDEX recertifications_open ON countersign.recertifications USING btree (tenant_id, agent_id) WHERE (closed_at IS NULL)
CREATE INDEX run_id_segments_small ON countersign.run_id_segments USING btree (tenant_id, source, last_run) WHERE (run_count < 256)
CREATE INDEX sessions_by_end ON countersign.sessions USING btree (expires_at)
CREATE INDEX sessions_of_person ON countersign.sessions USING btree (person_id, created_at)
CREATE INDEX sign_in_attempts_by_age ON countersign.sign_in_attempts USING btree (window_began_at)
CREATE INDEX telemetry_events_not_successful ON countersign.telemetry_events USING btree (tenant_id, outcome, submission, ordinal) WHERE (outcome <> 'success'::text)
CREATE INDEX telemetry_events_of_agent ON countersign.telemetry_events USING btree (tenant_id, agent_id, submission, ordinal)
CREATE INDEX telemetry_events_of_run ON countersign.telemetry_events USING btree (tenant_id, trace_id, submission, ordinal)
CREATE INDEX telemetry_events_of_session ON countersign.telemetry_events USING btree (tenant_id, session_id, submission, ordinal) WHERE (session_id IS NOT NULL)
CREATE INDEX trace_submissions_of_export ON countersign.trace_submissions USING btree (tenant_id, export) WHERE (export IS NOT NULL)
CREATE INDEX traces_not_successful ON countersign.traces USING btree (tenant_id, outcome, id) WHERE (outcome <> 'success'::text)
CREATE INDEX traces_of_agent ON countersign.traces USING btree (tenant_id, agent_id, id)
CREATE INDEX traces_of_session ON countersign.traces USING btree (tenant_id, session_id, id) WHERE (session_id IS NOT NULL)
CREATE INDEX traces_without_outcome ON countersign.traces USING btree (tenant_id, id) WHERE (outcome IS NULL)
CREATE UNIQUE INDEX agents_pkey ON countersign.agents USING btree (tenant_id, id)
CREATE UNIQUE INDEX agents_tenant_id_name_key ON countersign.agents USING btree (tenant_id, name)
CREATE UNIQUE INDEX approvals_pkey ON countersign.approvals USING btree (tenant_id, evaluation_id)
CREATE UNIQUE INDEX audit_entries_no_fork ON countersign.audit_entries USING btree (tenant_id, prev_hash) NULLS NOT DISTINCT
CREATE UNIQUE INDEX audit_entries_pkey ON countersign.audit_entries USING btree (tenant_id, seq)
CREATE UNIQUE INDEX audit_entries_tenant_id_id_key ON countersign.audit_entries USING btree (tenant_id, id)
CREATE UNIQUE INDEX checkpoints_pkey ON countersign.checkpoints USING btree (tenant_id, log, size)
CREATE UNIQUE INDEX decision_keys_pkey ON countersign.decision_keys USING btree (tenant_id, key_id)
CREATE UNIQUE INDEX decisions_pkey ON countersign.decisions USING btree (tenant_id, seq)
CREATE UNIQUE INDEX decisions_tenant_id_id_key ON countersign.decisions USING btree (tenant_id, id)
CREATE UNIQUE INDEX document_segments_pkey ON countersign.document_segments USING btree (tenant_id, id)
CREATE UNIQUE INDEX dropped_traces_pkey ON countersign.dropped_traces USING btree (tenant_id, trace)
CREATE UNIQUE INDEX evaluated_runs_pkey ON countersign.evaluated_runs USING btree (tenant_id, trace_id, evaluation)
CREATE UNIQUE INDEX evaluations_pkey ON countersign.evaluations USING btree (tenant_id, id)
CREATE UNIQUE INDEX evidence_events_pkey ON countersign.evidence_events USING btree (tenant_id, seq)
CREATE UNIQUE INDEX export_runs_pkey ON countersign.export_runs USING btree (tenant_id, trace_id, export)
CREATE UNIQUE INDEX idempotency_keys_pkey ON countersign.idempotency_keys USING btree (tenant_id, path, key)
CREATE UNIQUE INDEX incidents_pkey ON countersign.incidents USING btree (tenant_id, id)
CREATE UNIQUE INDEX ingestion_keys_pkey ON countersign.ingestion_keys USING btree (prefix)
CREATE UNIQUE INDEX ingestion_keys_tenant_id_id_key ON countersign.ingestion_keys USING btree (tenant_id, id)
CREATE UNIQUE INDEX instance_pkey ON countersign.instance USING btree (only_row)
CREATE UNIQUE INDEX key_events_pkey ON countersign.key_events USING btree (tenant_id, seq)
CREATE UNIQUE INDEX key_last_use_pkey ON countersign.key_last_use USING btree (tenant_id, key_id)
CREATE UNIQUE INDEX log_heads_pkey ON countersign.log_heads USING btree (tenant_id, log)
CREATE UNIQUE INDEX log_records_pkey ON countersign.log_records USING btree (tenant_id, trace_id, span_id, sha256)
CREATE UNIQUE INDEX memberships_pkey ON countersign.memberships USING btree (tenant_id, person_id)
CREATE UNIQUE INDEX merged_spans_pkey ON countersign.merged_spans USING btree (tenant_id, trace, span_id)
CREATE UNIQUE INDEX merged_traces_pkey ON countersign.merged_traces USING btree (tenant_id, trace)
CREATE UNIQUE INDEX migrations_pkey ON countersign.migrations USING btree (id)
CREATE UNIQUE INDEX one_time_links_id_key ON countersign.one_time_links USING btree (id)
CREATE UNIQUE INDEX one_time_links_pkey ON countersign.one_time_links USING btree (token_sha256)
CREATE UNIQUE INDEX otlp_exports_pkey ON countersign.otlp_exports USING btree (tenant_id, id)
CREATE UNIQUE INDEX people_email_key ON countersign.people USING btree (email)
CREATE UNIQUE INDEX people_pkey ON countersign.people USING btree (id)
CREATE UNIQUE INDEX recertifications_pkey ON countersign.recertifications USING btree (tenant_id, incident_id)
CREATE UNIQUE INDEX retention_periods_pkey ON countersign.retention_periods USING btree (tenant_id, number)
CREATE UNIQUE INDEX run_id_segments_pkey ON countersign.run_id_segments USING btree (tenant_id, source, last_run)
CREATE UNIQUE INDEX sessions_id_key ON countersign.sessions USING btree (id)
CREATE UNIQUE INDEX sessions_pkey ON countersign.sessions USING btree (token_sha256)
CREATE UNIQUE INDEX sign_in_attempts_pkey ON countersign.sign_in_attempts USING btree (subject)
CREATE UNIQUE INDEX signing_keys_pkey ON countersign.signing_keys USING btree (kid)
CREATE UNIQUE INDEX telemetry_events_pkey ON countersign.telemetry_events USING btree (tenant_id, submission, ordinal)
CREATE UNIQUE INDEX telemetry_submissions_pkey ON countersign.telemetry_submissions USING btree (tenant_id, id)
CREATE UNIQUE INDEX tenants_pkey ON countersign.tenants USING btree (id)
CREATE UNIQUE INDEX trace_events_pkey ON countersign.trace_events USING btree (tenant_id, seq)
CREATE UNIQUE INDEX trace_submissions_pkey ON countersign.trace_submissions USING btree (tenant_id, trace, number)
CREATE UNIQUE INDEX traces_pkey ON countersign.traces USING btree (tenant_id, id)
CREATE UNIQUE INDEX traces_tenant_id_trace_id_key ON countersign.traces USING btree (tenant_id, trace_id)
CREATE UNIQUE INDEX tree_nodes_pkey ON countersign.tree_nodes USING btree (tenant_id, log, level, index)

-- triggers (A: fired always)
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.audit_entries FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.checkpoints FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.decisions FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.document_segments FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE', 'UPDATE') [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.dropped_traces FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.evaluated_runs FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.evaluations FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.evidence_events FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.export_runs FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE') [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.incidents FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.key_events FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.otlp_exports FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE') [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.retention_periods FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.telemetry_events FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE') [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.telemetry_submissions FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE', 'UPDATE') [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.trace_events FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.trace_submissions FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE') [A]
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON countersign.tree_nodes FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change() [A]

-- row-level security
agents enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
approvals enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
audit_entries enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
checkpoints enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
decision_keys enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
decisions enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
document_segments enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
dropped_traces enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
evaluated_runs enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
evaluations enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
evidence_events enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
export_runs enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
idempotency_keys enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
incidents enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
ingestion_keys enabled t forced t using ((NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text) IS NULL) OR (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
instance enabled f forced f using  check 
key_events enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
key_last_use enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
log_heads enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
log_heads enabled t forced t using (log = 'keys'::text) check 
log_records enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
memberships enabled t forced t using (person_id = (NULLIF(current_setting('countersign.person_id'::text, true), ''::text))::uuid) check 
memberships enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
merged_spans enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
merged_traces enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
migrations enabled f forced f using  check 
one_time_links enabled f forced f using  check 
otlp_exports enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
people enabled f forced f using  check 
recertifications enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
retention_periods enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
run_id_segments enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
sessions enabled f forced f using  check 
sign_in_attempts enabled f forced f using  check 
signing_keys enabled f forced f using  check 
telemetry_events enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
telemetry_submissions enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
tenants enabled f forced f using  check 
trace_events enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
trace_submissions enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
traces enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)
tree_nodes enabled t forced t using (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid) check (tenant_id = (NULLIF(current_setting('countersign.tenant_id'::text, true), ''::text))::uuid)

-- rights of the server's role
agents INSERT, SELECT
approvals INSERT, SELECT, UPDATE
audit_entries INSERT, SELECT
checkpoints INSERT, SELECT
decision_keys INSERT, SELECT
decisions INSERT, SELECT
document_segments INSERT, SELECT
dropped_traces INSERT, SELECT
evaluated_runs INSERT, SELECT
evaluations INSERT, SELECT
evidence_events INSERT, SELECT
export_runs INSERT, SELECT
idempotency_keys DELETE, INSERT, SELECT
incidents INSERT, SELECT
ingestion_keys INSERT, SELECT
instance INSERT, SELECT
key_events INSERT, SELECT
key_last_use INSERT, SELECT
log_heads INSERT, SELECT
log_records DELETE, INSERT, SELECT
memberships DELETE, INSERT, SELECT
merged_spans INSERT, SELECT, UPDATE
merged_traces INSERT, SELECT, UPDATE
migrations SELECT
one_time_links DELETE, INSERT, SELECT
otlp_exports INSERT, SELECT
people INSERT, SELECT
recertifications INSERT, SELECT, UPDATE
retention_periods INSERT, SELECT
run_id_segments DELETE, INSERT, SELECT
sessions DELETE, INSERT, SELECT
sign_in_attempts DELETE, INSERT, SELECT, UPDATE
signing_keys INSERT, SELECT
spans INSERT, SELECT
telemetry_events INSERT, SELECT
telemetry_submissions INSERT, SELECT
tenants INSERT, SELECT
trace_events INSERT, SELECT
trace_submissions INSERT, SELECT
traces INSERT, SELECT, UPDATE
tree_nodes INSERT, SELECT

-- columns that the server's role may change, where not the whole row
agents archived_at, name_skeleton, name_skeleton_caseless, risk_level
decision_keys retired_at, seal
ingestion_keys expires_at, name, revoked_at, rotated_at, scopes, secret_sha256
key_last_use last_used_at
log_heads frontier, last_recorded_at, row_hash, seal, seq, tree_size
log_records joined
memberships role, seal
people name, password, password_changed_at, seal
sessions last_used_at
signing_keys retired_at, seal, signs_since
tenants name, seal
