import type { Condition, ConditionCheck } from '@countersign/core/contract/promotion-check';
import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { IconCircleCheckFilled, IconCircleXFilled } from '@tabler/icons-react';
import styles from './condition-list.module.css';
import type { CheckedEvaluation } from './failed-conditions.ts';
import { RemedyLink } from './remedy-link.tsx';

const LABELS: Record<Condition, string> = {
  recent_passing_evaluation: 'Recent passing evaluation',
  pass_rate: 'Pass rate at or above the threshold',
  high_risk_approval: 'Approval (high-risk agents only)',
  recertification: 'No open re-certification',
};

/** The four conditions of a promotion: whether each is met, and a link to the remedy if it is not. */
export function ConditionList(props: {
  checks: readonly ConditionCheck[];
  /** The ID of the agent; null hides the links. */
  agent: string | null;
  evaluation: CheckedEvaluation | null;
  /** Leaves out the link to the approval, on the page of the approval itself. */
  hidesApprovalLink?: boolean;
}) {
  const { checks, agent, evaluation, hidesApprovalLink = false } = props;
  return (
    <ol className={styles.list}>
      {checks.map(({ condition, passed, message }, index) => (
        <li key={condition} data-passed={passed}>
          {passed ? <IconCircleCheckFilled size={19} aria-hidden /> : <IconCircleXFilled size={19} aria-hidden />}
          <div>
            <h3>
              {index + 1}. {LABELS[condition]}
              <span className="visually-hidden">: {passed ? 'met' : 'not met'}</span>
            </h3>
            <p>{replaceEvaluationId(message, evaluation)}</p>
            {!passed && agent !== null && !(hidesApprovalLink && condition === 'high_risk_approval') && (
              <p>
                <RemedyLink check={checks[index]!} agent={agent} evaluation={evaluation} />
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** A message of a decision or a check, with visible spaces, and the ID of the evaluation replaced by its name in quotation marks. */
export const replaceEvaluationId = (message: string, evaluation: CheckedEvaluation | null): string =>
  visibleSpaces(evaluation === null ? message : message.replaceAll(evaluation.id, `“${evaluation.name}”`));
