import type { AgentSummary } from '@countersign/core/portal/agent-facts';
import { failedConditions } from './failed-conditions.ts';
import styles from './promotion-status.module.css';
import { RemedyLink } from './remedy-link.tsx';
import { VerdictBadge } from './status-badges.tsx';

/** Whether an agent can be promoted now; if not, each reason with a link to its remedy. */
export function PromotionStatus({ agent: { id, standing, latest_evaluation } }: { agent: AgentSummary }) {
  return (
    <div className={styles.standing}>
      <VerdictBadge allowed={standing.promotable} labels={['Yes', 'No']} />
      {!standing.promotable && (
        <ul className={styles.list}>
          {failedConditions(standing.checks, latest_evaluation).map((check) => (
            <li key={check.condition}>
              {check.label}: <RemedyLink check={check} agent={id} evaluation={latest_evaluation} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
