import { Button, NativeSelect } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ListItem, type RequestBody, type ResponseBody } from '../../api/call.ts';
import { membersQuery } from '../../api/people.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { type Column, DataTable } from '../../lists/data-table.tsx';
import { TableSkeleton } from '../../lists/table-skeleton.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { Invitations } from './invitations.tsx';
import { InviteMember } from './invite-member.tsx';
import { MemberMenu } from './member-menu.tsx';
import { type OneTimeLink, OneTimeLinkDialog } from './one-time-link-dialog.tsx';

type Member = ListItem<'members.list'>;

/** The page with the members of the workspace, their roles and, for admins, the pending invitations. */
export function MembersPage() {
  const { workspace } = useWorkspace();
  const isAdmin = useHasRole('admin');
  const [isInviting, setIsInviting] = useState(false);
  const [newLink, setNewLink] = useState<OneTimeLink>();
  const members = useQuery(membersQuery(workspace.id));
  const show = (link: ResponseBody<'invitations.create'>, title: string) => setNewLink({ ...link, title });
  return (
    <>
      <PageHeader
        title="Members"
        lead="Viewers have read-only access. Approvers also approve evaluations and close re-certifications. Admins have full access."
        actions={isAdmin && <Button onClick={() => setIsInviting(true)}>Invite member</Button>}
      />
      <div className="stack">
        <Panel flush>
          <LoadedContent query={members} skeleton={<TableSkeleton columns={4} />} inset>
            {({ items }) => (
              <DataTable label="Members" items={items} keyOf={({ person_id }) => person_id} columns={columnsOf(isAdmin, show)} />
            )}
          </LoadedContent>
        </Panel>
        {isAdmin && <Invitations />}
      </div>
      <InviteMember opened={isInviting} onClose={() => setIsInviting(false)} onShow={show} />
      <OneTimeLinkDialog link={newLink} onClose={() => setNewLink(undefined)} />
    </>
  );
}

const columnsOf = (
  isAdmin: boolean,
  show: (link: ResponseBody<'invitations.create'>, title: string) => void,
): Column<Member>[] => [
  {
    title: 'Name',
    wide: true,
    cell: ({ name, email }) => (
      <>
        <strong>{name}</strong>
        <br />
        <span className="faint break">{email}</span>
      </>
    ),
  },
  { title: 'Role', line: isAdmin, cell: (member) => (isAdmin ? <RoleSelect member={member} /> : member.role) },
  { title: 'Joined', cell: ({ joined_at }) => <RelativeTime at={joined_at} /> },
  ...(isAdmin ? [{ title: 'Actions', cell: (member: Member) => <MemberMenu member={member} onShow={show} /> }] : []),
];

/** A selector for a member's role. A selection changes the role immediately. The server does not let the last admin lose the role. */
function RoleSelect({ member }: { member: Member }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const mutation = useMutation({
    mutationFn: (role: RequestBody<'members.change_role'>['role']) =>
      call('members.change_role', { params: { workspace: workspace.id, person: member.person_id }, body: { role } }),
    onSuccess: async (_done, role) => {
      toast.done(`${member.name} is now ${role === 'viewer' ? 'a viewer' : `an ${role}`}.`);
      await queries.invalidateQueries();
    },
  });
  return (
    <NativeSelect
      size="xs"
      miw={116}
      aria-label={`Role of ${member.name}`}
      data={['viewer', 'approver', 'admin']}
      value={mutation.isPending ? mutation.variables : member.role}
      disabled={mutation.isPending}
      onChange={({ currentTarget }) => mutation.mutate(currentTarget.value as 'viewer')}
    />
  );
}
