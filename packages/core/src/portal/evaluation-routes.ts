import { type Static, Type } from 'typebox';
import { CaseCounts } from '../contract/case-counts.ts';
import { COMPLETENESS, EvaluationSuite } from '../contract/detailed-evaluation.ts';
import { EVALUATION_STATUSES } from '../contract/evaluation.ts';
import { amount, count, dateTime, flag, label, nullable, oneOf, text, unboundedText, uuid } from '../contract/scalars.ts';
import { APPROVAL_STATUSES, agentOrNone, EvaluationSummary, RISK_LEVELS } from './agent-facts.ts';
import { filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';
import { RunTotals } from './run-facts.ts';

/** An evaluation in a list. */
export const ListedEvaluation = Type.Object({
  ...EvaluationSummary.properties,
  agent: agentOrNone(
    'The agent that was evaluated; null if none was named. Promotion checks ignore evaluations without an agent.',
  ),
  suite: nullable(label({ description: 'Name of its suite; null if none was sent.' })),
  completeness: nullable(oneOf(COMPLETENESS, { description: 'How much of the suite ran; null if not reported.' })),
});
export type ListedEvaluation = Static<typeof ListedEvaluation>;

/** The members that only `POST /api/v1/evaluations` accepts. A member that was not sent is null, empty or false. */
export const EvaluationDetails = Type.Object({
  evaluated_at: nullable(dateTime({ description: 'When it ran, according to its sender.' })),
  completeness: nullable(oneOf(COMPLETENESS, { description: 'How much of the suite ran.' })),
  cases: Type.Union([CaseCounts, Type.Null()], { description: 'How many cases there were.' }),
  skipped_excluded: flag({ description: 'Whether the pass rate leaves skipped cases out.' }),
  suite: Type.Union([EvaluationSuite, Type.Null()], { description: 'The suite.' }),
  blocking_failures: Type.Array(label({ description: 'Name of a failed case.' }), {
    description: 'Names of failed cases that matter whatever the pass rate is. Promotion checks do not use them.',
  }),
  max_severity: nullable(amount({ description: 'Highest severity found, on the scale of severity_threshold.' })),
  results_sha256: nullable(label({ description: 'SHA-256 of the results file, hex.' })),
  run_url: nullable(text({ description: 'Page of the run, http or https.' })),
  trace_ids: Type.Array(label({ description: 'trace_id of a run.' }), { description: 'The runs that were evaluated.' }),
  artifact: nullable(label({ description: 'Digest of the evaluated artifact.' })),
});
export type EvaluationDetails = Static<typeof EvaluationDetails>;

/** The approval of an evaluation and its history. */
export const Approval = Type.Object({
  status: oneOf(APPROVAL_STATUSES, { description: 'Its state.' }),
  requested_at: dateTime({ description: 'When it was requested; without a request, when it was first decided.' }),
  requested_by: label({
    description:
      'Who requested it: key:<prefix> of a promotion check; without a request, who first decided (user:<uuid> or operator).',
  }),
  decided_at: nullable(dateTime({ description: 'When it was decided; null while it is pending.' })),
  decided_by: nullable(label({ description: 'Who decided: user:<uuid> or operator.' })),
  rationale: nullable(text({ description: 'The reason of the decision.' })),
  used_by: nullable(
    uuid({
      description:
        'The first allowed decision that used the approval; null if there is none. Decisions about a low-risk agent use ' +
        'no approval. A used approval cannot be withdrawn.',
    }),
  ),
});
export type Approval = Static<typeof Approval>;

/**
 * The runs that an evaluation may have examined: the agent's runs between the previous evaluation and this one. Not every evaluation names
 * its runs, so `trace_ids` is not used. The list of runs shows the same runs with the filters `agent_id`, `from` and `to`.
 */
export const RelatedRuns = Type.Object({
  from: nullable(
    dateTime({
      description:
        "The start of these runs: when the agent's last evaluation before this one was recorded; null if there is none.",
    }),
  ),
  to: dateTime({ description: 'When this evaluation was recorded.' }),
  totals: RunTotals,
  models: Type.Array(
    Type.Object({
      model: label({ description: 'A model.' }),
      steps: count({ description: 'The number of steps and telemetry events that name the model.' }),
    }),
    {
      description:
        'The models that the latest 200 traces and 200 telemetry events of these runs name: at most 50, most used first. Only the latest ' +
        '50 submissions of each trace are read, and about 4 MiB of steps in total.',
    },
  ),
  models_complete: flag({
    description: 'True if `models` names all models of these runs; false if a limit of the search may have left some out.',
  }),
  counted_max: count({
    description: 'The maximum number of traces, and of telemetry events, in the totals. The latest ones are counted.',
  }),
});
export type RelatedRuns = Static<typeof RelatedRuns>;

/** One evaluation. */
export const EvaluationDetail = Type.Object({
  ...ListedEvaluation.properties,
  severity_threshold: nullable(amount({ description: 'The lowest severity at which a finding counted.' })),
  notes: nullable(text({ description: 'Notes from its sender.' })),
  details: EvaluationDetails,
  agent_risk_level: nullable(oneOf(RISK_LEVELS, { description: "The agent's risk level now; null without an agent." })),
  latest_of_agent: nullable(
    uuid({ description: "The agent's latest evaluation, which promotion checks without a harness use; null without an agent." }),
  ),
  approval_record: Type.Union([Approval, Type.Null()], { description: 'Its approval; null if none was requested or decided.' }),
  runs: Type.Union([RelatedRuns, Type.Null()], { description: 'The runs that it may have examined; null without an agent.' }),
  document: unboundedText({ description: 'The original body of the request.' }),
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
      status: filter.oneOf(EVALUATION_STATUSES, 'Only this status.'),
      harness_id: filter.uuid('Only this harness.'),
      from: filter.from(),
      to: filter.to(),
    }),
    response: page(ListedEvaluation),
  },
  'evaluations.read': {
    method: 'GET',
    path: `${WORKSPACE}/evaluations/:evaluation`,
    access: 'viewer',
    compressed: true,
    summary: 'One evaluation, with its approval and the runs that it may have examined.',
    response: EvaluationDetail,
  },
} as const satisfies Record<string, PortalRoute>;
