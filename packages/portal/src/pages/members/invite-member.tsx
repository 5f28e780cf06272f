import { Modal, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';

/** A dialog that creates an invitation. The admin gets a one-time link to share. */
export function InviteMember(props: {
  opened: boolean;
  onClose: () => void;
  onShow: (link: ResponseBody<'invitations.create'>, title: string) => void;
}) {
  const { opened, onClose, onShow } = props;
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('viewer');
  const mutation = useMutation({
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
    <Modal opened={opened} onClose={onClose} title={`Invite to ${workspace.name}`}>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['email', 'role']}
        pending={mutation.isPending}
        submit="Create invitation"
        onCancel={onClose}
      >
        <TextInput
          label="Email address"
          type="email"
          autoComplete="off"
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          error={fieldError(mutation.error, 'email')}
          withAsterisk
          data-autofocus
        />
        <NativeSelect
          label="Role"
          value={role}
          onChange={({ currentTarget }) => setRole(currentTarget.value)}
          data={[
            { value: 'viewer', label: 'Viewer: read-only access' },
            { value: 'approver', label: 'Approver: also approves evaluations and closes re-certifications' },
            { value: 'admin', label: 'Admin: full access' },
          ]}
          error={fieldError(mutation.error, 'role')}
        />
        <p className="soft">No email is sent. You get a one-time link to share.</p>
      </Form>
    </Modal>
  );
}
