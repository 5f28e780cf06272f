import {
  IconBuildingBank,
  IconChartBar,
  IconChecklist,
  IconClipboardCheck,
  IconFlame,
  IconGavel,
  IconKey,
  IconListTree,
  IconRobot,
  IconSettings,
  IconSignature,
  IconUsers,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { overviewQuery, PENDING_COUNT_MAX, pendingCountsQuery } from '../api/overview.ts';
import { useHasRole, useWorkspace } from '../api/session.ts';
import { formatCount } from '../components/number-format.ts';
import styles from './navigation.module.css';

const RECORD = [
  { to: '/w/$workspace', label: 'Overview', Icon: IconChartBar, exact: true },
  { to: '/w/$workspace/agents', label: 'Agents', Icon: IconRobot },
  { to: '/w/$workspace/runs', label: 'Runs', Icon: IconListTree },
  { to: '/w/$workspace/evaluations', label: 'Evaluations', Icon: IconChecklist },
] as const;

const GOVERNANCE = [
  { to: '/w/$workspace/decisions', label: 'Decisions', Icon: IconGavel },
  { to: '/w/$workspace/approvals', label: 'Approvals', Icon: IconClipboardCheck, pending: 'approvals' },
  { to: '/w/$workspace/incidents', label: 'Incidents', Icon: IconFlame, pending: 'recertifications' },
  { to: '/w/$workspace/ledger', label: 'Audit ledger', Icon: IconBuildingBank },
] as const;

const ADMINISTRATION = [
  { to: '/w/$workspace/keys', label: 'Ingestion keys', Icon: IconKey },
  { to: '/w/$workspace/members', label: 'Members', Icon: IconUsers },
  { to: '/w/$workspace/signing', label: 'Signing', Icon: IconSignature },
  { to: '/w/$workspace/settings', label: 'Workspace', Icon: IconSettings },
] as const;

type Entry = (typeof RECORD | typeof GOVERNANCE | typeof ADMINISTRATION)[number];

/** Links to the pages of a workspace, with the numbers of pending items. After a page change, stale numbers are loaded again. */
export function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const { workspace } = useWorkspace();
  const isAdmin = useHasRole('admin');
  const queries = useQueryClient();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect must run after every page change.
  useEffect(() => {
    const { queryKey } = overviewQuery(workspace.id);
    void queries.refetchQueries({ queryKey, stale: true }, { cancelRefetch: false });
  }, [path]);
  return (
    <nav aria-label="Workspace" className={styles.navigation}>
      <Group label="Record" entries={RECORD} onNavigate={onNavigate} />
      <Group label="Governance" entries={GOVERNANCE} onNavigate={onNavigate} />
      <Group
        label="Administration"
        entries={isAdmin ? ADMINISTRATION : ADMINISTRATION.filter(({ label }) => label !== 'Ingestion keys')}
        onNavigate={onNavigate}
      />
    </nav>
  );
}

function Group({ label, entries, onNavigate }: { label: string; entries: readonly Entry[]; onNavigate: () => void }) {
  return (
    <div className={styles.group}>
      <h2>{label}</h2>
      <ul>
        {entries.map((entry) => (
          <li key={entry.to}>
            <NavigationLink entry={entry} onNavigate={onNavigate} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function NavigationLink({ entry, onNavigate }: { entry: Entry; onNavigate: () => void }) {
  const { workspace } = useWorkspace();
  const pendingCounts = useQuery(pendingCountsQuery(workspace.id)).data;
  const pendingCount = 'pending' in entry ? (pendingCounts?.[entry.pending] ?? 0) : 0;
  return (
    <Link
      to={entry.to}
      params={{ workspace: workspace.id }}
      activeOptions={{ exact: 'exact' in entry, includeSearch: false }}
      activeProps={{ 'data-active': true, 'aria-current': 'page' }}
      className={styles.link}
      onClick={onNavigate}
    >
      <entry.Icon size={17} stroke={1.7} aria-hidden />
      <span>{entry.label}</span>
      {pendingCount > 0 && (
        <span className={styles.count}>
          {pendingCount < PENDING_COUNT_MAX ? pendingCount : `${formatCount(PENDING_COUNT_MAX)}+`}
          <span className="visually-hidden"> pending</span>
        </span>
      )}
    </Link>
  );
}
