/** What nobody may change, not even the owner of the tables. */
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
