import { type Static, Type } from 'typebox';
import { label, text } from '../contract/scalars.ts';

/** A row that differs from its log or is not valid, because it was changed in the database without the server. */
export const DifferingRow = Type.Object({
  table: label({
    description:
      'The table: agents, evaluations, approvals or recertifications (compared with the evidence log); traces, trace_submissions, ' +
      'merged_spans or merged_traces (compared with the trace log); ingestion_keys (compared with the key audit trail); or ' +
      'audit_entries, decisions, evidence_events, key_events or trace_events (rows of logs).',
  }),
  id: label({
    description:
      'ID of the agent, of the evaluation (also for approvals), of the incident (for recertifications), or of the trace (with the ' +
      'number of the submission for trace_submissions); the prefix of a key. For a row of a log: its number, or the source that ' +
      'contradicts the log.',
  }),
  fault: text({ description: 'What is wrong with the row.' }),
});
export type DifferingRow = Static<typeof DifferingRow>;
