import { visibleSpaces } from '@countersign/core/domain/visible-spaces';
import { IconCircleCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { PENDING_COUNT_MAX } from '../../api/overview.ts';
import { useWorkspace } from '../../api/session.ts';
import { formatCount, formatPercent } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import styles from './pending-list.module.css';

/** A panel with the pending approvals, then the open re-certifications, each list with the oldest first. */
export function PendingList({ overview }: { overview: ResponseBody<'overview.read'> }) {
  const { workspace } = useWorkspace();
  const { approvals, approvals_pending, recertifications, recertifications_open } = overview;
  const isEmpty = approvals_pending + recertifications_open === 0;
  return (
    <Panel title="Pending" flush>
      {isEmpty && (
        <p className={styles.nothing}>
          <IconCircleCheck size={17} aria-hidden /> No pending approvals or re-certifications.
        </p>
      )}
      <ul className={styles.list}>
        {approvals.map(({ evaluation, agent, requested_at }) => (
          <li key={evaluation.id}>
            <Link to="/w/$workspace/approvals/$evaluation" params={{ workspace: workspace.id, evaluation: evaluation.id }}>
              Approval of {visibleSpaces(agent.name)}
            </Link>
            <span>
              <bdi>{evaluation.name}</bdi>, {formatPercent(evaluation.pass_rate)} · <RelativeTime at={requested_at} />
            </span>
          </li>
        ))}
        {recertifications.map(({ id, agent, severity, opened_at }) => (
          <li key={id}>
            <Link to="/w/$workspace/incidents/$incident" params={{ workspace: workspace.id, incident: id }}>
              Re-certification of {visibleSpaces(agent.name)}
            </Link>
            <span>
              after an incident of severity {severity} · <RelativeTime at={opened_at} />
            </span>
          </li>
        ))}
      </ul>
      <MoreLink
        shownCount={approvals.length}
        totalCount={approvals_pending}
        to="/w/$workspace/approvals"
        label="pending approvals"
      />
      <MoreLink
        shownCount={recertifications.length}
        totalCount={recertifications_open}
        to="/w/$workspace/incidents"
        search={{ recertification: 'open' }}
        label="open re-certifications"
      />
    </Panel>
  );
}

function MoreLink({
  shownCount,
  totalCount,
  to,
  search = {},
  label,
}: {
  shownCount: number;
  totalCount: number;
  to: '/w/$workspace/approvals' | '/w/$workspace/incidents';
  search?: { recertification?: 'open' };
  label: string;
}) {
  const { workspace } = useWorkspace();
  if (totalCount <= shownCount) return null;
  return (
    <div className={styles.more}>
      <Link to={to} params={{ workspace: workspace.id }} search={search}>
        {totalCount < PENDING_COUNT_MAX
          ? `All ${totalCount} ${label}`
          : `All ${label} (${formatCount(PENDING_COUNT_MAX)} or more)`}
      </Link>
    </div>
  );
}
