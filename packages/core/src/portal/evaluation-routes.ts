import { type Static, Type } from 'typebox';
import { CaseCounts } from '../contract/case-counts.ts';
import { COMPLETENESS, EvaluationSuite } from '../contract/detailed-evaluation.ts';
import { EVALUATION_STATUSES } from '../contract/evaluation.ts';
import { amount, count, dateTime, flag, label, nullable, oneOf, text, unboundedText, uuid } from '../contract/scalars.ts';
import { APPROVAL_STATUSES, agentOrNone, EvaluationSummary, RISK_LEVELS } from './agent-facts.ts';
import { filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';
import { RunTotals } from './run-facts.ts';

/** An evaluation in the list. */
export const ListedEvaluation = Type.Object({
  ...EvaluationSummary.properties,
  agent: agentOrNone('The agent that was evaluated; null when none was named: it then counts for none.'),
  completeness: nullable(oneOf(COMPLETENESS, { description: 'How much of the suite was run; null where nothing was said.' })),
});
export type ListedEvaluation = Static<typeof ListedEvaluation>;

/** What `POST /api/v1/evaluations` says beyond the public endpoint; null, or an empty list, where nothing was said. */
export const EvaluationDetails = Type.Object({
  evaluated_at: nullable(dateTime({ description: 'When it was run, as its sender says.' })),
  completeness: nullable(oneOf(COMPLETENESS, { description: 'How much of the suite was run.' })),
  cases: Type.Union([CaseCounts, Type.Null()], { description: 'How many cases there were.' }),
  skipped_excluded: flag({ description: 'Whether the pass rate leaves skipped cases out.' }),
  suite: Type.Union([EvaluationSuite, Type.Null()], { description: 'The suite.' }),
  blocking_failures: Type.Array(label({ description: 'Name of a failed case.' }), {
    description: 'What an average must not hide.',
  }),
  max_severity: nullable(amount({ description: 'Highest severity found, on the scale of the threshold.' })),
  results_sha256: nullable(label({ description: 'SHA-256 of the results file, hex.' })),
  run_url: nullable(text({ description: 'Where the run can be looked at, http or https.' })),
  trace_ids: Type.Array(label({ description: 'trace_id of a run.' }), { description: 'The runs that were evaluated.' }),
  artifact: nullable(label({ description: 'Digest of what was evaluated.' })),
});
export type EvaluationDetails = Static<typeof EvaluationDetails>;

/** How the approval of an evaluation stands, and who said what. */
export const Approval = Type.Object({
  status: oneOf(APPROVAL_STATUSES, { description: 'How it stands.' }),
  requested_at: dateTime({ description: 'When it was asked for.' }),
  requested_by: label({ description: 'Who asked: key:<prefix> of a promotion check, or whoever decided unasked.' }),
  decided_at: nullable(dateTime({ description: 'When it was decided; null while it waits.' })),
  decided_by: nullable(label({ description: 'Who decided: user:<uuid> or operator.' })),
  rationale: nullable(text({ description: 'Why.' })),
  used_by: nullable(
    uuid({
      description: 'The first allowed decision that rests on this evaluation: an approval that was used cannot be withdrawn.',
    }),
  ),
});
export type Approval = Static<typeof Approval>;

/**
 * The runs that may stand behind an evaluation. The contract links no run to an evaluation: these are the agent's own between the
 * evaluation before this one and this one. The list of runs shows them with the same agent, from and to.
 */
export const RunsBehind = Type.Object({
  from: nullable(dateTime({ description: "When the agent's evaluation before this one was recorded; null for its first." })),
  to: dateTime({ description: 'When this one was recorded.' }),
  totals: RunTotals,
  models: Type.Array(
    Type.Object({
      model: label({ description: 'A model.' }),
      steps: count({ description: 'Model calls and telemetry events that name it.' }),
    }),
    {
      description:
        'The models that the latest 200 traces and 200 telemetry events of them name, most used first. Of a trace, its latest 50 submissions are read.',
    },
  ),
  counted_max: count({ description: 'The totals count at most this many runs of each kind, the latest.' }),
});
export type RunsBehind = Static<typeof RunsBehind>;

/** One evaluation. */
export const EvaluationDetail = Type.Object({
  ...ListedEvaluation.properties,
  severity_threshold: nullable(amount({ description: 'The severity from which a finding counted.' })),
  notes: nullable(text({ description: 'For people, as its sender wrote them.' })),
  details: EvaluationDetails,
  agent_risk_level: nullable(oneOf(RISK_LEVELS, { description: "The agent's risk level now; null without an agent." })),
  latest_of_agent: nullable(uuid({ description: "The agent's latest evaluation, which decides; null without an agent." })),
  approval_record: Type.Union([Approval, Type.Null()], { description: 'Its approval; null when nobody asked or decided.' }),
  runs: Type.Union([RunsBehind, Type.Null()], { description: 'The runs that may stand behind it; null without an agent.' }),
  document: unboundedText({ description: 'The body that recorded it, as it came.' }),
});
export type EvaluationDetail = Static<typeof EvaluationDetail>;

export const evaluationRoutes = {
  'evaluations.list': {
    method: 'GET',
    path: `${WORKSPACE}/evaluations`,
    access: 'viewer',
    compressed: true,
    summary: 'The evaluations, newest first.',
    query: pageQuery({
      agent_id: filter.agent(),
      status: filter.oneOf(EVALUATION_STATUSES, 'Of this status alone.'),
      harness_id: filter.uuid('Of this harness alone.'),
      from: filter.from(),
      to: filter.to(),
    }),
    answer: page(ListedEvaluation),
  },
  'evaluations.read': {
    method: 'GET',
    path: `${WORKSPACE}/evaluations/:evaluation`,
    access: 'viewer',
    compressed: true,
    summary: 'One evaluation, with its approval and the runs that may stand behind it.',
    answer: EvaluationDetail,
  },
} as const satisfies Record<string, PortalRoute>;
