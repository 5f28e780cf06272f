import { Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ListItem, type RequestBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { ScopeSelect } from './scope-select.tsx';

type Key = ListItem<'keys.list'>;

/** A dialog that changes the scopes of an ingestion key. The new scopes take effect on the next request. */
export function ChangeScopes({ opened, onClose, item }: { opened: boolean; onClose: () => void; item: Key }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [scopes, setScopes] = useState<string[]>([...item.scopes]);
  const mutation = useMutation({
    mutationFn: () =>
      call('keys.change_scopes', {
        params: { workspace: workspace.id, prefix: item.prefix },
        body: { scopes, from: item.scopes } as RequestBody<'keys.change_scopes'>,
      }),
    meta: { errorShownInForm: true },
    onSuccess: async () => {
      toast.done('Scopes changed. They take effect on the next request.');
      onClose();
      await queries.invalidateQueries();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title={`Scopes of ${item.name}`}>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['scopes']}
        pending={mutation.isPending}
        submit="Change scopes"
        onCancel={onClose}
      >
        <ScopeSelect value={scopes} onChange={setScopes} error={fieldError(mutation.error, 'scopes')} />
      </Form>
    </Modal>
  );
}
