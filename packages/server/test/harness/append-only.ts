/** Tables with the trigger `append_only`, which applies to the owner too. Seven more tables have this trigger (schema.snapshot.sql). */
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
