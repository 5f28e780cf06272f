/**
 * The actions of the audit entries that the service writes itself, each with the members of its metadata (docs/formats.md, "Entries of the
 * service"). Code that writes an entry with another action does not compile.
 */
export const SERVICE_ACTIONS = {
  'agent.high_risk': [],
  'agent.low_risk': [],
  'agent.archived': [],
  'agent.restored': [],
  'approval.approved': ['evaluation_id'],
  'approval.rejected': ['evaluation_id'],
  'approval.withdrawn': ['evaluation_id'],
  'incident.created': ['incident_id', 'recertification_required', 'severity'],
  'recertification.closed': ['evaluation_id', 'incident_ids'],
  'policy.violation': ['policy', 'severity', 'violation_id'],
  'decision_key.rotated': ['key_id', 'signing'],
  'decision_key.retired': ['key_id', 'signing'],
  'decision_key.shown': ['key_id'],
  'retention.changed': ['after', 'before'],
  'retention.dropped': [
    'days',
    'exports',
    'kind',
    'received_before',
    'received_from',
    'submissions',
    'telemetry_events',
    'traces',
    'traces_log_seq',
  ],
  'run.erased': ['exports', 'submissions', 'telemetry_events', 'trace', 'traces_log_seq'],
  'workspace.renamed': ['after', 'before'],
  'member.invited': ['role'],
  'member.invitation_withdrawn': ['role'],
  'member.joined': ['by', 'invitation_id', 'role'],
  'member.role_changed': ['from', 'to'],
  'member.removed': ['role'],
  'member.password_reset': [],
  'clock.corrected': ['logs', 'reopened_approvals'],
  'ledger.restore_accepted': ['logs'],
  'promotion.blocked': ['asked_by', 'decision_id', 'response_sha256'],
  'evaluation.failed': ['asked_by', 'decision_id', 'response_sha256'],
  'approval.required': ['asked_by', 'decision_id', 'response_sha256'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** One of the actions in SERVICE_ACTIONS. */
export type ServiceAction = keyof typeof SERVICE_ACTIONS;

/** The metadata that an entry of an action may have; null if the action has none. */
export type ServiceMetadata<A extends ServiceAction> = { [Member in (typeof SERVICE_ACTIONS)[A][number]]?: unknown } | null;
