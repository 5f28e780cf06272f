import type { EvaluationStatus } from '@countersign/core/contract/evaluation';
import type { Reason } from '@countersign/core/contract/promotion-check';
import type { ApprovalStatus, RiskLevel } from '@countersign/core/portal/agent-facts';
import type { Severity } from '@countersign/core/portal/incident-routes';
import { Badge, type Tone } from './badge.tsx';
import { EXAMPLE_AGENT } from './example-agent.ts';

/** Badges for the states of records. This file decides which state has which color. */

export const VerdictBadge = ({
  allowed,
  labels = ['Allowed', 'Blocked'],
}: {
  allowed: boolean;
  labels?: readonly [string, string];
}) => <Badge tone={allowed ? 'good' : 'bad'}>{allowed ? labels[0] : labels[1]}</Badge>;

const EVALUATION: Record<EvaluationStatus, Tone> = { passing: 'good', failing: 'bad', running: 'accent', scheduled: 'quiet' };
export const EvaluationStatusBadge = ({ status }: { status: EvaluationStatus }) => (
  <Badge tone={EVALUATION[status]}>{status}</Badge>
);

const APPROVAL: Record<ApprovalStatus, Tone> = { pending: 'warn', approved: 'good', rejected: 'bad' };
export const ApprovalStatusBadge = ({ status }: { status: ApprovalStatus | null }) =>
  status === null ? <span className="faint">–</span> : <Badge tone={APPROVAL[status]}>{status}</Badge>;

export const RiskBadge = ({ level }: { level: RiskLevel }) => (
  <Badge tone={level === 'high' ? 'warn' : 'quiet'} dot={false}>
    {level} risk
  </Badge>
);

/** Marks the agent of the example requests. */
export const ExampleBadge = ({ agent }: { agent: string }) =>
  agent === EXAMPLE_AGENT ? (
    <Badge tone="quiet" dot={false}>
      example
    </Badge>
  ) : null;

const SEVERITY: Record<Severity, Tone> = { low: 'quiet', medium: 'accent', high: 'warn', critical: 'bad' };
export const SeverityBadge = ({ severity }: { severity: Severity | null }) =>
  severity === null ? <span className="faint">–</span> : <Badge tone={SEVERITY[severity]}>{severity}</Badge>;

const OUTCOME: Record<string, Tone> = {
  success: 'good',
  failure: 'bad',
  error: 'bad',
  escalated: 'warn',
  blocked: 'warn',
  incomplete: 'warn',
};
/** The outcome of a run; null while its spans are arriving. */
export const OutcomeBadge = ({ outcome }: { outcome: string | null }) =>
  outcome === null ? <Badge tone="accent">arriving</Badge> : <Badge tone={OUTCOME[outcome] ?? 'quiet'}>{outcome}</Badge>;

/** Short labels of the reasons of a decision. */
export const REASON_LABELS: Record<Reason, string> = {
  all_conditions_met: 'All conditions met',
  no_recent_evaluation: 'No recent evaluation',
  evaluation_not_passing: 'Evaluation not passing',
  pass_rate_below_threshold: 'Pass rate below threshold',
  approval_required: 'Approval required',
  approval_rejected: 'Approval rejected',
  recertification_open: 'Re-certification open',
};
