import { Button, NativeSelect } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Answer, type Body, call, type Item } from '../../api/call.ts';
import { membersQuery } from '../../api/people.ts';
import { useHere, useMay } from '../../api/session.ts';
import { type Column, DataTable } from '../../lists/data-table.tsx';
import { TableSkeleton } from '../../lists/table-skeleton.tsx';
import { PageHeader } from '../../pieces/page-header.tsx';
import { Panel } from '../../pieces/panel.tsx';
import { ProblemNotice } from '../../pieces/problem-notice.tsx';
import { When } from '../../pieces/when.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { Invitations } from './invitations.tsx';
import { InviteMember } from './invite-member.tsx';
import { LinkShownOnce, type ShownOnce } from './link-shown-once.tsx';
import { MemberMenu } from './member-menu.tsx';

export type Member = Item<'members.list'>;

/** Who belongs to the workspace, in which role. */
export function MembersPage() {
  const { workspace } = useHere();
  const admin = useMay('admin');
  const [inviting, setInviting] = useState(false);
  const [shown, setShown] = useState<ShownOnce>();
  const members = useQuery(membersQuery(workspace.id));
  const show = (link: Answer<'invitations.create'>, what: string) => setShown({ ...link, what });
  return (
    <>
      <PageHeader
        title="Members"
        lead="Viewers read; approvers decide about evaluations and close re-certifications; admins do everything else."
        actions={admin && <Button onClick={() => setInviting(true)}>Invite somebody</Button>}
      />
      <div className="stack">
        <Panel flush>
          {members.isError ? (
            <ProblemNotice problem={members.error} retry={() => void members.refetch()} />
          ) : members.data === undefined ? (
            <TableSkeleton columns={4} />
          ) : (
            <DataTable
              label="Members"
              items={members.data.items}
              keyOf={({ person_id }) => person_id}
              columns={columnsOf(admin, show)}
            />
          )}
        </Panel>
        {admin && <Invitations />}
      </div>
      <InviteMember opened={inviting} onClose={() => setInviting(false)} onShow={show} />
      <LinkShownOnce shown={shown} onClose={() => setShown(undefined)} />
    </>
  );
}

const columnsOf = (admin: boolean, show: (link: Answer<'invitations.create'>, what: string) => void): Column<Member>[] => [
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
  { title: 'Role', line: admin, cell: (member) => (admin ? <RoleChoice member={member} /> : member.role) },
  { title: 'Joined', cell: ({ joined_at }) => <When at={joined_at} /> },
  ...(admin ? [{ title: 'Act', cell: (member: Member) => <MemberMenu member={member} onShow={show} /> }] : []),
];

/** A member's role; changed as soon as another one is chosen. The server keeps the last admin. */
function RoleChoice({ member }: { member: Member }) {
  const { workspace } = useHere();
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: (role: Body<'members.change_role'>['role']) =>
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
      value={act.isPending ? act.variables : member.role}
      disabled={act.isPending}
      onChange={({ currentTarget }) => act.mutate(currentTarget.value as 'viewer')}
    />
  );
}
