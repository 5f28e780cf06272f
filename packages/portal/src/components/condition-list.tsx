import type { Condition, ConditionCheck } from '@countersign/core/contract/promotion-check';
import { IconCircleCheckFilled, IconCircleXFilled } from '@tabler/icons-react';
import styles from './condition-list.module.css';
import type { CheckedEvaluation } from './failed-conditions.ts';
import { RemedyLink } from './remedy-link.tsx';

const WORDS: Record<Condition, string> = {
  recent_passing_evaluation: 'Recent passing evaluation',
  pass_rate: 'Pass rate at the threshold or above',
  high_risk_approval: 'Approval, for a high-risk agent',
  recertification: 'No re-certification open',
};

/** The four conditions of a promotion, one by one: whether each holds, and what to do where it does not. */
export function ConditionList(props: {
  checks: readonly ConditionCheck[];
  /** The agent's id; without it nothing is linked. */
  agent: string | null;
  evaluation: CheckedEvaluation | null;
}) {
  const { checks, agent, evaluation } = props;
  return (
    <ol className={styles.list}>
      {checks.map(({ condition, passed, message }, index) => (
        <li key={condition} data-passed={passed}>
          {passed ? <IconCircleCheckFilled size={19} aria-hidden /> : <IconCircleXFilled size={19} aria-hidden />}
          <div>
            <h3>
              {index + 1}. {WORDS[condition]}
              <span className="visually-hidden">: {passed ? 'holds' : 'does not hold'}</span>
            </h3>
            <p>{withEvaluationName(message, evaluation)}</p>
            {!passed && agent !== null && (
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

/** A message of a decision, with the evaluation's name where the message has its id. */
export const withEvaluationName = (message: string, evaluation: CheckedEvaluation | null): string =>
  evaluation === null ? message : message.replaceAll(evaluation.id, `“${evaluation.name}”`);
