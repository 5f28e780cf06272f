import { Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { toast } from '../../toasts/toasts.tsx';
import type { Key } from './key-list.tsx';
import { ScopeChoice } from './scope-choice.tsx';

/** Gives an ingestion key other scopes, from its next request on. */
export function ChangeScopes({ opened, onClose, item }: { opened: boolean; onClose: () => void; item: Key }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [scopes, setScopes] = useState<string[]>([...item.scopes]);
  const act = useMutation({
    mutationFn: () =>
      call('keys.change_scopes', {
        params: { workspace: workspace.id, prefix: item.prefix },
        body: { scopes } as RequestBody<'keys.change_scopes'>,
      }),
    meta: { errorShownInForm: true },
    onSuccess: async () => {
      toast.done('The scopes are changed, from its next request on.');
      onClose();
      await queries.invalidateQueries();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title={`Scopes of ${item.name}`}>
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={['scopes']}
        pending={act.isPending}
        submit="Change the scopes"
        onCancel={onClose}
      >
        <ScopeChoice value={scopes} onChange={setScopes} error={fieldError(act.error, 'scopes')} />
      </Form>
    </Modal>
  );
}
