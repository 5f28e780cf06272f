import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call, type ListItem, type ResponseBody } from '../../api/call.ts';
import { sessionQuery, useSession, useWorkspace } from '../../api/session.ts';
import { ConfirmDialog } from '../../forms/confirm-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';

type Member = ListItem<'members.list'>;

/** The actions of an admin for a member: create a password reset link, or remove the member. On their own row, admins can only leave. */
export function MemberMenu({
  member,
  onShow,
}: {
  member: Member;
  onShow: (link: ResponseBody<'members.reset_password'>, title: string) => void;
}) {
  const { workspace, person } = useWorkspace();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isOnlyWorkspace = useSession().data?.memberships.length === 1;
  const [openDialog, setOpenDialog] = useState<'reset' | 'remove'>();
  const isSelf = member.person_id === person.id;
  const params = { workspace: workspace.id, person: member.person_id };
  const remove = async () => {
    await call('members.remove', { params });
    toast.done(`${member.name} is no longer a member of the workspace.`);
    await queries.invalidateQueries();
  };
  const leave = async () => {
    await call('members.leave', { params: { workspace: workspace.id } });
    toast.done(`You left ${workspace.name}.`);
    // The page `/` redirects to a workspace of the session. So the workspace that the person left is first removed from the session.
    queries.setQueryData(
      sessionQuery.queryKey,
      (session) =>
        session && { ...session, memberships: session.memberships.filter((each) => each.workspace.id !== workspace.id) },
    );
    await navigate({ to: '/' });
    await queries.invalidateQueries();
  };
  const createResetLink = async () =>
    onShow(await call('members.reset_password', { params }), `Password reset link for ${member.name}`);
  return (
    <>
      <Menu position="bottom-end" width={230}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${member.name}`}>
            <IconDots size={17} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!isSelf && <Menu.Item onClick={() => setOpenDialog('reset')}>Create password reset link</Menu.Item>}
          <Menu.Item color="red" onClick={() => setOpenDialog('remove')}>
            {isSelf ? 'Leave workspace' : 'Remove'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        opened={openDialog === 'reset'}
        onClose={() => setOpenDialog(undefined)}
        title={`Reset password of ${member.name}`}
        submit="Create link"
        action={createResetLink}
      >
        <p className="soft">
          You get a one-time link to share. Setting a new password with this link ends all sessions of <bdi>{member.name}</bdi>.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={openDialog === 'remove'}
        onClose={() => setOpenDialog(undefined)}
        title={isSelf ? `Leave ${workspace.name}?` : `Remove ${member.name}?`}
        submit={isSelf ? 'Leave' : 'Remove'}
        danger
        action={isSelf ? leave : remove}
      >
        <p className="soft">
          Records of {isSelf ? 'your' : 'their'} actions are kept. The last admin cannot {isSelf ? 'leave' : 'be removed'}.
          {isSelf && isOnlyWorkspace && ' This is your only workspace, so leaving it signs you out.'}
        </p>
      </ConfirmDialog>
    </>
  );
}
