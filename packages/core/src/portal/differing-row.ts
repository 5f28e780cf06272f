import { type Static, Type } from 'typebox';
import { label, text } from '../contract/scalars.ts';

/** A row that was changed in the database without the server. */
export const DifferingRow = Type.Object({
  table: label({
    description:
      'The table. Compared with the log of evidence: agents, evaluations, approvals or recertifications. Compared with the log of traces: traces or trace_submissions. Logs: audit_entries, decisions, evidence_events, key_events or trace_events.',
  }),
  id: label({
    description:
      'ID of the agent, evaluation (also for approvals) or incident, or of the run with the number of the submission. For a row of a ' +
      'log: its number, or what contradicts the log.',
  }),
  fault: text({ description: 'The value in the row, and the value in the log.' }),
});
export type DifferingRow = Static<typeof DifferingRow>;
