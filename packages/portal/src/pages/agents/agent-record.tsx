import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { type Column, DataTable } from '../../lists/data-table.tsx';
import { TableSkeleton } from '../../lists/table-skeleton.tsx';
import { approvalColumns } from '../approvals/approval-columns.tsx';
import { decisionColumns } from '../decisions/decision-columns.tsx';
import { evaluationColumns } from '../evaluations/evaluation-columns.tsx';
import { incidentColumns } from '../incidents/incident-columns.tsx';
import { runColumns } from '../runs/run-columns.tsx';
import styles from './agent-record.module.css';

const RECORDS_MAX = '10';
/** Without this filter, the list of approvals shows only pending approvals. */
const ALL_APPROVALS = { status: 'all' } as const;
type ListOptions = { params: { workspace: string }; query: { agent_id: string; limit: string }; signal: AbortSignal };

/** The latest records of an agent by kind, with links to the full lists. */
export function AgentRecord({ agent }: { agent: string }) {
  const { workspace } = useWorkspace();
  const [tab, setTab] = useState<string | null>('evaluations');
  const optionsFor = (signal: AbortSignal): ListOptions => ({
    params: { workspace: workspace.id },
    query: { agent_id: agent, limit: RECORDS_MAX },
    signal,
  });
  const id = workspace.id;
  return (
    <Panel flush>
      <Tabs value={tab} onChange={setTab} keepMounted={false} classNames={{ list: styles.tabs, tab: styles.tab }}>
        <Tabs.List>
          <Tabs.Tab value="evaluations">Evaluations</Tabs.Tab>
          <Tabs.Tab value="decisions">Decisions</Tabs.Tab>
          <Tabs.Tab value="runs">Runs</Tabs.Tab>
          <Tabs.Tab value="approvals">Approvals</Tabs.Tab>
          <Tabs.Tab value="incidents">Incidents</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="evaluations">
          <LatestRecords
            kind="evaluations"
            agent={agent}
            to="/w/$workspace/evaluations"
            load={(signal) => call('evaluations.list', optionsFor(signal))}
            columns={evaluationColumns(id, { withAgent: false })}
            keyOf={(each) => each.id}
          />
        </Tabs.Panel>
        <Tabs.Panel value="decisions">
          <LatestRecords
            kind="decisions"
            agent={agent}
            to="/w/$workspace/decisions"
            load={(signal) => call('decisions.list', optionsFor(signal))}
            columns={decisionColumns(id)}
            keyOf={(each) => each.id}
          />
        </Tabs.Panel>
        <Tabs.Panel value="runs">
          <LatestRecords
            kind="runs"
            agent={agent}
            to="/w/$workspace/runs"
            load={(signal) => call('runs.list', optionsFor(signal))}
            columns={runColumns(id, { withAgent: false })}
            keyOf={(each) => `${each.id}/${each.ordinal}`}
          />
        </Tabs.Panel>
        <Tabs.Panel value="approvals">
          <LatestRecords
            kind="approvals"
            agent={agent}
            to="/w/$workspace/approvals"
            search={ALL_APPROVALS}
            load={(signal) => {
              const { query, ...options } = optionsFor(signal);
              return call('approvals.list', { ...options, query: { ...query, ...ALL_APPROVALS } });
            }}
            columns={approvalColumns(id)}
            keyOf={(each) => each.evaluation.id}
          />
        </Tabs.Panel>
        <Tabs.Panel value="incidents">
          <LatestRecords
            kind="incidents"
            agent={agent}
            to="/w/$workspace/incidents"
            load={(signal) => call('incidents.list', optionsFor(signal))}
            columns={incidentColumns(id)}
            keyOf={(each) => each.id}
          />
        </Tabs.Panel>
      </Tabs>
    </Panel>
  );
}

function LatestRecords<T>(props: {
  kind: string;
  agent: string;
  to:
    | '/w/$workspace/evaluations'
    | '/w/$workspace/decisions'
    | '/w/$workspace/runs'
    | '/w/$workspace/approvals'
    | '/w/$workspace/incidents';
  /** Filters of the full list besides the agent. */
  search?: { status: string };
  load: (signal: AbortSignal) => Promise<{ items: readonly T[]; next: string | null }>;
  columns: readonly Column<T>[];
  keyOf: (item: T) => string;
}) {
  const { kind, agent, to, search, load, columns, keyOf } = props;
  const { workspace } = useWorkspace();
  const list = useQuery({ queryKey: [kind, workspace.id, 'of-agent', agent], queryFn: ({ signal }) => load(signal) });
  if (list.isError) return <ProblemNotice problem={list.error} retry={() => void list.refetch()} />;
  if (list.data === undefined) return <TableSkeleton columns={columns.length} />;
  if (list.data.items.length === 0) return <p className={styles.none}>{`No ${kind} for this agent.`}</p>;
  return (
    <>
      <DataTable label={`Latest ${kind}`} items={list.data.items} keyOf={keyOf} columns={columns} />
      <div className={styles.more}>
        <Link to={to} params={{ workspace: workspace.id }} search={{ agent_id: agent, ...search }}>
          All {kind} of this agent
        </Link>
      </div>
    </>
  );
}
