import type { EvaluationStatus } from '@countersign/core/contract/evaluation';
import type { ConditionCheck } from '@countersign/core/contract/promotion-check';
import { REASON_LABELS } from './status-badges.tsx';

/** The evaluation that a promotion check used. `pass_rate` is in percent; null if the evaluation reported none. */
export interface CheckedEvaluation {
  id: string;
  name: string;
  status: EvaluationStatus;
  pass_rate: number | null;
}

/**
 * The conditions that fail, each with a short reason. A condition that fails only because of another one is left out: `pass_rate` and
 * `high_risk_approval` if there is no evaluation, and `pass_rate` if the evaluation is unfinished and has no pass rate.
 */
export function failedConditions(checks: readonly ConditionCheck[], evaluation: CheckedEvaluation | null) {
  const isUnfinished = evaluation === null || evaluation.status === 'running' || evaluation.status === 'scheduled';
  return checks
    .filter(({ passed, condition, reason }) => {
      if (passed) return false;
      if (condition === 'pass_rate') return !(isUnfinished && (evaluation?.pass_rate ?? null) === null);
      return !(reason === 'approval_required' && evaluation === null);
    })
    .map((check) => ({ ...check, label: reasonLabel(check, evaluation) }));
}

function reasonLabel({ reason }: ConditionCheck, evaluation: CheckedEvaluation | null): string {
  if (reason === 'evaluation_not_passing' && evaluation !== null) return `Evaluation ${evaluation.status}`;
  if (reason === 'no_recent_evaluation' && evaluation === null) return 'No evaluation';
  if (reason === 'pass_rate_below_threshold' && evaluation?.pass_rate === null) return 'No pass rate';
  return reason === null ? '' : REASON_LABELS[reason];
}
