import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { ConfirmDialog } from '../../forms/confirm-dialog.tsx';
import { toast } from '../../toasts/toasts.tsx';
import type { Member } from './members-page.tsx';

/** What an admin does about a member: a link for a lost password, and the end of the membership. */
export function MemberMenu({
  member,
  onShow,
}: {
  member: Member;
  onShow: (link: ResponseBody<'members.reset_password'>, what: string) => void;
}) {
  const { workspace, person } = useWorkspace();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'reset' | 'remove'>();
  const self = member.person_id === person.id;
  const params = { workspace: workspace.id, person: member.person_id };
  const remove = async () => {
    if (self) await call('members.leave', { params: { workspace: workspace.id } });
    else await call('members.remove', { params });
    if (self) await navigate({ to: '/' });
    else toast.done(`${member.name} does not belong to the workspace any more.`);
    await queries.invalidateQueries();
  };
  const reset = async () =>
    onShow(await call('members.reset_password', { params }), `A link by which ${member.name} sets a new password`);
  return (
    <>
      <Menu position="bottom-end" width={230}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`What to do about ${member.name}`}>
            <IconDots size={17} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!self && <Menu.Item onClick={() => setAsking('reset')}>Link for a new password</Menu.Item>}
          <Menu.Item color="red" onClick={() => setAsking('remove')}>
            {self ? 'Leave the workspace' : 'Remove'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        opened={asking === 'reset'}
        onClose={() => setAsking(undefined)}
        title={`A new password for ${member.name}`}
        submit="Make the link"
        act={reset}
      >
        <p className="soft">
          You get a one-time link to pass on. When it is used, all of <bdi>{member.name}</bdi>'s sessions end.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={asking === 'remove'}
        onClose={() => setAsking(undefined)}
        title={self ? `Leave ${workspace.name}?` : `Remove ${member.name}?`}
        submit={self ? 'Leave' : 'Remove'}
        danger
        act={remove}
      >
        <p className="soft">What {self ? 'you have' : 'they have'} done stays in the record. The last admin stays.</p>
      </ConfirmDialog>
    </>
  );
}
