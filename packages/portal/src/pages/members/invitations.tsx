import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call, type ListItem } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Actor } from '../../components/actor.tsx';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { toast } from '../../toasts/toasts.tsx';

type Invitation = ListItem<'invitations.list'>;

/** A panel with the pending invitations. Renders nothing if there are none. */
export function Invitations() {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const invitations = useQuery({
    queryKey: ['invitations', workspace.id],
    queryFn: ({ signal }) => call('invitations.list', { params: { workspace: workspace.id }, signal }),
  });
  const withdraw = useMutation({
    mutationFn: (invitation: string) => call('invitations.withdraw', { params: { workspace: workspace.id, invitation } }),
    onSuccess: async () => {
      toast.done('Invitation withdrawn. Its link no longer works.');
      await queries.invalidateQueries({ queryKey: ['invitations'] });
    },
  });
  return (
    <div>
      <LoadedContent query={invitations} skeleton={null} what="The list of invitations">
        {({ items }) => items.length > 0 && <PendingInvitations items={items} onWithdraw={(id) => withdraw.mutate(id)} />}
      </LoadedContent>
    </div>
  );
}

function PendingInvitations({ items, onWithdraw }: { items: readonly Invitation[]; onWithdraw: (id: string) => void }) {
  return (
    <Panel title="Invitations" note="Each link was shown only once. To get a new link, invite the same address again." flush>
      <DataTable
        label="Invitations"
        items={items}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Email address', wide: true, cell: ({ email }) => <strong className="break">{email}</strong> },
          { title: 'Role', cell: ({ role }) => role },
          { title: 'Invited by', cell: ({ invited_by }) => <Actor by={invited_by} /> },
          { title: 'Link expires', cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
          {
            title: 'Actions',
            cell: ({ id }) => (
              <Button variant="default" size="compact-xs" onClick={() => onWithdraw(id)}>
                Withdraw
              </Button>
            ),
          },
        ]}
      />
    </Panel>
  );
}
