import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { TableSkeleton } from '../../lists/table-skeleton.tsx';
import { runColumns } from '../runs/run-columns.tsx';

/** A table of the latest runs of an agent in a time range, at most 8. */
export function LatestRuns({ agent, from, to }: { agent: string; from: string | null; to: string }) {
  const { workspace } = useWorkspace();
  const runs = useQuery({
    queryKey: ['runs', workspace.id, 'related', agent, from, to],
    queryFn: ({ signal }) =>
      call('runs.list', {
        params: { workspace: workspace.id },
        query: { agent_id: agent, from: from ?? undefined, to, limit: '8' },
        signal,
      }),
  });
  if (runs.isError) return <ProblemNotice problem={runs.error} retry={() => void runs.refetch()} />;
  if (runs.data === undefined) return <TableSkeleton columns={6} />;
  return (
    <DataTable
      label="Latest related runs"
      items={runs.data.items}
      keyOf={({ id, ordinal }) => `${id}/${ordinal}`}
      columns={runColumns(workspace.id, { withAgent: false })}
    />
  );
}
