/** Tables whose rows even the owner cannot change or delete. */
export const APPEND_ONLY = [
  'audit_entries',
  'decisions',
  'key_events',
  'trace_submissions',
  'telemetry_submissions',
  'document_segments',
  'otlp_exports',
  'evaluations',
  'telemetry_events',
  'incidents',
];
