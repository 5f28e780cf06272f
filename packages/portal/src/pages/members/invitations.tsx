import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { useHere } from '../../api/session.ts';
import { DataTable } from '../../lists/data-table.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { When } from '../../pieces/when.tsx';
import { Who } from '../../pieces/who.tsx';
import { toast } from '../../toasts/toasts.tsx';

/** The invitations that nobody has accepted yet. */
export function Invitations() {
  const { workspace } = useHere();
  const queries = useQueryClient();
  const invitations = useQuery({
    queryKey: ['invitations', workspace.id],
    queryFn: ({ signal }) => call('invitations.list', { params: { workspace: workspace.id }, signal }),
  });
  const withdraw = useMutation({
    mutationFn: (invitation: string) => call('invitations.withdraw', { params: { workspace: workspace.id, invitation } }),
    onSuccess: async () => {
      toast.done('The invitation is withdrawn; its link is dead.');
      await queries.invalidateQueries({ queryKey: ['invitations'] });
    },
  });
  if (invitations.isError) return <ProblemNotice problem={invitations.error} retry={() => void invitations.refetch()} />;
  if (invitations.data === undefined || invitations.data.items.length === 0) return null;
  return (
    <Panel
      title="Invited"
      note="Their links were shown once, when they were made. Inviting the same address again makes a new one."
      flush
    >
      <DataTable
        label="Invitations"
        items={invitations.data.items}
        keyOf={({ id }) => id}
        columns={[
          { title: 'E-mail address', wide: true, cell: ({ email }) => <strong className="break">{email}</strong> },
          { title: 'Role', cell: ({ role }) => role },
          { title: 'Invited by', cell: ({ invited_by }) => <Who by={invited_by} /> },
          { title: 'Link ends', cell: ({ expires_at }) => <When at={expires_at} /> },
          {
            title: 'Act',
            cell: ({ id }) => (
              <Button variant="default" size="compact-xs" onClick={() => withdraw.mutate(id)}>
                Withdraw
              </Button>
            ),
          },
        ]}
      />
    </Panel>
  );
}
