import { type Static, Type } from 'typebox';
import { amount, flag, nullable, oneOf, sha256Hex, text, unboundedText } from '../contract/scalars.ts';
import { AgentName, APPROVAL_STATUSES, EvaluationSummary, RISK_LEVELS, Standing } from './agent-facts.ts';
import { Approval, EvaluationDetails, RelatedRuns } from './evaluation-routes.ts';
import { ledgerText } from './ledger-text.ts';
import { filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** An approval in a list. */
export const ListedApproval = Type.Object({
  evaluation: EvaluationSummary,
  agent: AgentName,
  ...Approval.properties,
  rationale: nullable(text({ description: 'The reason of the decision; its first 500 characters.' })),
});
export type ListedApproval = Static<typeof ListedApproval>;

/** The facts by which an evaluation is compared with the last approved one, in the order in which the page lists them. */
export const COMPARED_FACTS = [
  'pass_rate',
  'status',
  'artifact',
  'suite',
  'suite_version',
  'suite_digest',
  'completeness',
  'cases',
  'case_outcomes',
  'blocking_failures',
  'max_severity',
  'severity_threshold',
  'name',
  'harness_id',
  'category',
  'recorded_by',
  'models',
] as const;

/** One fact that has changed since the last approved evaluation. */
export const Change = Type.Object({
  what: oneOf(COMPARED_FACTS, { description: 'Which fact.' }),
  before: nullable(
    text({
      description:
        'The value of the fact at the last approved evaluation; null if it had no value. In a list of names, a name with a comma or a ' +
        'quotation mark is written as a JSON string.',
    }),
  ),
  now: nullable(text({ description: 'The value of the fact at this evaluation; null if it has no value.' })),
  difference: nullable(amount({ description: 'For numbers: `now` minus `before`, rounded to six decimals; null otherwise.' })),
});
export type Change = Static<typeof Change>;

/** What an approver sees before deciding. */
export const ApprovalDetail = Type.Object({
  agent: AgentName,
  risk_level: oneOf(RISK_LEVELS, { description: "The agent's risk level now." }),
  evaluation: EvaluationSummary,
  details: EvaluationDetails,
  notes: nullable(text({ description: 'Notes from the sender of the evaluation.' })),
  altered: nullable(
    unboundedText({
      description: 'How the stored approval differs from the audit ledger; null if it matches, or is not decided.',
    }),
  ),
  approval: Type.Union([Approval, Type.Null()], { description: 'The approval; null if none was requested or decided.' }),
  is_latest: flag({
    description: "Whether this evaluation is the agent's latest, the only one that promotion checks without a harness use.",
  }),
  runs: RelatedRuns,
  last_approved: Type.Union(
    [
      Type.Object({
        evaluation: EvaluationSummary,
        approval: Approval,
        altered: nullable(unboundedText({ description: 'How this approval differs from the audit ledger; null if it matches.' })),
        runs: RelatedRuns,
      }),
      Type.Null(),
    ],
    {
      description: "Of the agent's earlier evaluations, the one that was approved last; null if none is approved.",
    },
  ),
  changes: Type.Array(Change, { description: 'What changed since the last approved evaluation; empty without one.' }),
  standing: Standing,
  seen: sha256Hex({
    description:
      'SHA-256 of what this response says about the evaluation and its agent. Send it when you decide, so that ' +
      'the server can compare what you saw with the evidence log.',
  }),
  may: Type.Object(
    {
      approve: flag({ description: 'Whether it can be approved now.' }),
      reject: flag({ description: 'Whether it can be rejected now, even after an approval. A rejection is final.' }),
      withdraw: flag({
        description: 'Whether its approval can be withdrawn: it is approved, and no allowed decision has used the approval.',
      }),
    },
    { description: 'What an approver may do with the evaluation now.' },
  ),
});
export type ApprovalDetail = Static<typeof ApprovalDetail>;

/** The reason for an act. */
export const Rationale = Type.Object(
  { rationale: ledgerText({ description: 'The reason; recorded in the ledger.' }) },
  { additionalProperties: false },
);

/** The body of an approver's decision on an evaluation. */
export const DecisionOnEvaluation = Type.Object(
  {
    ...Rationale.properties,
    seen: sha256Hex({
      description:
        'The member `seen` of `approvals.read`. If the evidence log says something else about the evaluation or its agent, the ' +
        'request is rejected and nothing is recorded.',
    }),
  },
  { additionalProperties: false },
);

/** The state of an approval after an action. */
export const ApprovalState = Type.Object({
  status: oneOf(APPROVAL_STATUSES, { description: 'The state now.' }),
});

export const approvalRoutes = {
  'approvals.list': {
    method: 'GET',
    path: `${WORKSPACE}/approvals`,
    access: 'viewer',
    compressed: true,
    summary:
      'Approvals with one status, or all. Pending approvals: oldest request first. Approved or rejected: last decided first. ' +
      'All: latest evaluation first.',
    query: pageQuery({
      status: filter.oneOf([...APPROVAL_STATUSES, 'all'], 'Only this status, or `all`; default pending.'),
      agent_id: filter.agent(),
    }),
    response: page(ListedApproval),
  },
  'approvals.read': {
    method: 'GET',
    path: `${WORKSPACE}/approvals/:evaluation`,
    access: 'viewer',
    compressed: true,
    summary: 'What an approver sees: the evaluation, its runs, and what changed since the last approved evaluation.',
    response: ApprovalDetail,
  },
  'approvals.approve': {
    method: 'POST',
    path: `${WORKSPACE}/approvals/:evaluation/approve`,
    access: 'approver',
    compressed: true,
    summary: 'Approves one evaluation of a high-risk agent; recorded in the ledger as approval.approved.',
    body: DecisionOnEvaluation,
    response: ApprovalState,
  },
  'approvals.reject': {
    method: 'POST',
    path: `${WORKSPACE}/approvals/:evaluation/reject`,
    access: 'approver',
    compressed: true,
    usesReserve: true,
    summary: 'Rejects one evaluation of a high-risk agent permanently; recorded in the ledger as approval.rejected.',
    body: DecisionOnEvaluation,
    response: ApprovalState,
  },
  'approvals.withdraw': {
    method: 'POST',
    path: `${WORKSPACE}/approvals/:evaluation/withdraw`,
    access: 'approver',
    compressed: true,
    usesReserve: true,
    summary:
      'Withdraws an approval that no allowed decision has used, so that the approval is pending again. Recorded in the ledger as ' +
      'approval.withdrawn.',
    body: DecisionOnEvaluation,
    response: ApprovalState,
  },
} as const satisfies Record<string, PortalRoute>;
