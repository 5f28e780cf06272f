import { type Static, Type } from 'typebox';
import { label, text } from '../contract/scalars.ts';

/** A row that was changed in the database without the server. */
export const DifferingRow = Type.Object({
  table: label({
    description:
      'The table. Of the log of evidence: agents, evaluations, approvals or recertifications. Of the log of traces: traces, trace_submissions or trace_events.',
  }),
  id: label({
    description:
      'ID of the agent, of the evaluation (for approvals too), of the incident, or of the run, with the number of the submission; for trace_events the number of the event.',
  }),
  fault: text({ description: 'What the row says, and what the log says.' }),
});
export type DifferingRow = Static<typeof DifferingRow>;
