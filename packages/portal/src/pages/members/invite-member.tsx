import { Modal, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';

/** Invites somebody by a one-time link, which the admin passes on. */
export function InviteMember(props: {
  opened: boolean;
  onClose: () => void;
  onShow: (link: ResponseBody<'invitations.create'>, what: string) => void;
}) {
  const { opened, onClose, onShow } = props;
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('viewer');
  const act = useMutation({
    mutationFn: () =>
      call('invitations.create', {
        params: { workspace: workspace.id },
        body: { email: email.trim(), role } as RequestBody<'invitations.create'>,
      }),
    meta: { errorShownInForm: true },
    onSuccess: async (link) => {
      onClose();
      onShow(link, `Invitation for ${email.trim()}`);
      setEmail('');
      await queries.invalidateQueries({ queryKey: ['invitations'] });
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title={`Invite somebody to ${workspace.name}`}>
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={['email', 'role']}
        pending={act.isPending}
        submit="Make the invitation"
        onCancel={onClose}
      >
        <TextInput
          label="E-mail address"
          type="email"
          autoComplete="off"
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          error={fieldError(act.error, 'email')}
          withAsterisk
          data-autofocus
        />
        <NativeSelect
          label="Role"
          value={role}
          onChange={({ currentTarget }) => setRole(currentTarget.value)}
          data={[
            { value: 'viewer', label: 'Viewer: reads everything' },
            { value: 'approver', label: 'Approver: also decides about evaluations' },
            { value: 'admin', label: 'Admin: everything' },
          ]}
          error={fieldError(act.error, 'role')}
        />
        <p className="soft">No e-mail is sent. You get a link to pass on, which works once.</p>
      </Form>
    </Modal>
  );
}
