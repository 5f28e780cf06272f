import { IconCircleCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { Answer } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { percent } from '../../pieces/figures.ts';
import { Panel } from '../../pieces/panel.tsx';
import { When } from '../../pieces/when.tsx';
import styles from './waiting-list.module.css';

/** What waits for a person: approvals and open re-certifications, the oldest first. */
export function WaitingList({ overview }: { overview: Answer<'overview.read'> }) {
  const { workspace } = useHere();
  const { approvals, approvals_pending, recertifications, recertifications_open } = overview;
  const nothing = approvals_pending + recertifications_open === 0;
  return (
    <Panel title="Waiting for a person" flush>
      {nothing && (
        <p className={styles.nothing}>
          <IconCircleCheck size={17} aria-hidden /> Nothing waits: no approval, no re-certification.
        </p>
      )}
      <ul className={styles.list}>
        {approvals.map(({ evaluation, agent, requested_at }) => (
          <li key={evaluation.id}>
            <Link to="/w/$workspace/approvals/$evaluation" params={{ workspace: workspace.id, evaluation: evaluation.id }}>
              Approve {agent.name}
            </Link>
            <span>
              <bdi>{evaluation.name}</bdi>, {percent(evaluation.pass_rate)} · <When at={requested_at} />
            </span>
          </li>
        ))}
        {recertifications.map(({ id, agent, severity, opened_at }) => (
          <li key={id}>
            <Link to="/w/$workspace/incidents/$incident" params={{ workspace: workspace.id, incident: id }}>
              Re-certify {agent.name}
            </Link>
            <span>
              after a {severity} incident · <When at={opened_at} />
            </span>
          </li>
        ))}
      </ul>
      <More shown={approvals.length} all={approvals_pending} to="/w/$workspace/approvals" words="approvals" />
      <More shown={recertifications.length} all={recertifications_open} to="/w/$workspace/incidents" words="re-certifications" />
    </Panel>
  );
}

function More({
  shown,
  all,
  to,
  words,
}: {
  shown: number;
  all: number;
  to: '/w/$workspace/approvals' | '/w/$workspace/incidents';
  words: string;
}) {
  const { workspace } = useHere();
  if (all <= shown) return null;
  return (
    <div className={styles.more}>
      <Link to={to} params={{ workspace: workspace.id }}>
        All {all} {words}
      </Link>
    </div>
  );
}
