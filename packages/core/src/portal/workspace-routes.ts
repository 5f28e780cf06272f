import { type Static, Type } from 'typebox';
import { RETENTION_DAYS_MAX, SHORT_RETENTION_DAYS } from '../contract/retention-days.ts';
import { count, dateTime, flag, label, nullable, uuid } from '../contract/scalars.ts';
import { AgentSummary } from './agent-facts.ts';
import { ListedApproval } from './approval-routes.ts';
import { ListedDecision } from './decision-routes.ts';
import { DifferingRow } from './differing-row.ts';
import { ListedIncident } from './incident-routes.ts';
import { WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';
import { RunTotals } from './run-facts.ts';

/** A workspace. */
export const WorkspaceFacts = Type.Object({
  id: uuid({ description: 'ID of the workspace. Its logs contain it as `tenant_id`, which their hashes cover.' }),
  name: label({ description: 'Its name; not necessarily unique.' }),
  created_at: dateTime({ description: 'When it was created.' }),
});
export type WorkspaceFacts = Static<typeof WorkspaceFacts>;

const retentionDays = (records: string) =>
  nullable(count({ minimum: 1, maximum: RETENTION_DAYS_MAX, description: `Days for which ${records} are kept; null: forever.` }));

/** A period, and for how many days the runs that arrive in it are kept. */
const RetentionPeriod = Type.Object({
  since: dateTime({ description: 'Start of the period, which lasts until the next one starts.' }),
  trace_days: retentionDays('traces, OpenTelemetry exports and log records'),
  telemetry_days: retentionDays('telemetry events'),
});

/** For how many days runs are kept. */
export const RetentionFacts = Type.Object({
  trace_days: retentionDays('traces, OpenTelemetry exports and log records that are received now'),
  telemetry_days: retentionDays('telemetry events that are received now'),
  confirm_below: count({ description: 'A change to fewer days than this must be confirmed.' }),
  periods: Type.Array(RetentionPeriod, {
    description: 'All periods, oldest first. What was received before the first one is kept forever.',
  }),
});
export type RetentionFacts = Static<typeof RetentionFacts>;

/** Whether the workspace has records of each kind. The overview page uses it. */
const Presence = Type.Object(
  {
    runs: Type.Boolean({ description: 'A trace or a telemetry event.' }),
    evaluations: Type.Boolean({ description: 'An evaluation.' }),
    decisions: Type.Boolean({ description: 'A promotion decision.' }),
    ledger: Type.Boolean({ description: 'An audit entry.' }),
    keys: Type.Boolean({ description: 'An active ingestion key.' }),
  },
  { description: 'Whether the workspace has records of each kind.' },
);

/** The data of the overview page. */
export const Overview = Type.Object({
  agents_total: count({ description: 'How many agents there are, except archived ones.' }),
  agents: Type.Array(AgentSummary, {
    description:
      'At most 100 agents, chosen from the first 1,000 by name, except archived ones. Those that could not be promoted come first. ' +
      'At least 20 that could be promoted are included, if there are that many.',
  }),
  promotable: count({ description: 'How many of the first 1,000 agents by name, except archived ones, could be promoted now.' }),
  blocked: count({ description: 'How many of the first 1,000 agents by name, except archived ones, could not be promoted now.' }),
  approvals_pending: count({ description: 'How many evaluations are waiting for an approval, counted up to 1,000.' }),
  approvals: Type.Array(ListedApproval, { description: 'The 5 pending approvals that have waited longest.' }),
  recertifications_open: count({ description: 'How many re-certifications are open, counted up to 1,000.' }),
  recertifications: Type.Array(ListedIncident, {
    description: 'The incidents of the 5 re-certifications that have been open longest.',
  }),
  decisions: Type.Array(ListedDecision, { description: 'The last 10 decisions.' }),
  differing_rows: Type.Array(DifferingRow, {
    description:
      'Rows that differ from their log, as of the last comparisons. A comparison stops after about 20 rows. Decisions depend only ' +
      'on the evidence log.',
  }),
  has: Presence,
});
export type Overview = Static<typeof Overview>;

/** One day (UTC) of runs. */
export const UsageDay = Type.Object({
  day: Type.Unsafe<string>({ type: 'string', format: 'date', description: 'The day in UTC, YYYY-MM-DD.' }),
  ...RunTotals.properties,
});
export type UsageDay = Static<typeof UsageDay>;

export const workspaceRoutes = {
  'overview.read': {
    method: 'GET',
    path: `${WORKSPACE}/overview`,
    access: 'viewer',
    compressed: true,
    summary:
      'Which agents could be promoted now, why others could not, pending approvals, open re-certifications, and the last decisions.',
    response: Overview,
  },
  'overview.usage': {
    method: 'GET',
    path: `${WORKSPACE}/overview/usage`,
    access: 'viewer',
    compressed: true,
    summary: 'Runs, failures, tokens and cost by day in UTC, oldest first, including days without runs.',
    query: Type.Object(
      {
        days: Type.Optional(
          Type.Unsafe<string>({
            type: 'string',
            pattern: '^([1-9]|[1-8]\\d|90)$',
            'x-means': 'be a whole number from 1 to 90',
            description: 'How many days, today included; default 14.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: Type.Object({ days: Type.Array(UsageDay, { description: 'Oldest first; the last one is today.' }) }),
  },
  'workspace.read': {
    method: 'GET',
    path: `${WORKSPACE}/settings`,
    access: 'viewer',
    compressed: true,
    summary: 'The name of the workspace, and when it was created.',
    response: WorkspaceFacts,
  },
  'workspace.rename': {
    method: 'PATCH',
    path: `${WORKSPACE}/settings`,
    access: 'admin',
    compressed: true,
    summary: 'Renames the workspace; recorded in the ledger as workspace.renamed.',
    body: Type.Object({ name: label({ description: 'The name from now on.' }) }, { additionalProperties: false }),
    response: WorkspaceFacts,
  },
  'retention.read': {
    method: 'GET',
    path: `${WORKSPACE}/settings/retention`,
    access: 'viewer',
    compressed: true,
    summary: 'For how many days runs are kept.',
    response: RetentionFacts,
  },
  'retention.set': {
    method: 'PATCH',
    path: `${WORKSPACE}/settings/retention`,
    access: 'admin',
    compressed: true,
    summary:
      'Sets for how many days runs that arrive from now on are kept. An absent member stays unchanged. Recorded in the ledger as ' +
      'retention.changed.',
    body: Type.Object(
      {
        trace_days: Type.Optional(retentionDays('traces, OpenTelemetry exports and log records')),
        telemetry_days: Type.Optional(retentionDays('telemetry events')),
        confirm_short: Type.Optional(
          flag({ description: `Must be true if a change sets fewer than ${SHORT_RETENTION_DAYS} days.` }),
        ),
      },
      { additionalProperties: false },
    ),
    response: RetentionFacts,
  },
} as const satisfies Record<string, PortalRoute>;
