import { Modal, SegmentedControl, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import type { NewKey } from './new-key-dialog.tsx';
import { ScopeChoice } from './scope-choice.tsx';

const NOTHING = { kind: 'live' as 'live' | 'read', name: '', scopes: ['telemetry'] as string[], expires: '' };

/** Makes a key: what it is for, what it may do, and until when. `preset`: the name and scopes that the form starts with. */
export function MintKey(props: {
  opened: boolean;
  onClose: () => void;
  onShow: (answer: ResponseBody<'keys.mint'>, key: Omit<NewKey, 'key'>) => void;
  preset?: { name: string; scopes: string[] };
}) {
  const { opened, onClose, onShow, preset } = props;
  const start = { ...NOTHING, ...preset };
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [typed, setTyped] = useState(start);
  const { kind, name, scopes, expires } = typed;
  const act = useMutation({
    mutationFn: () => {
      const body = {
        kind,
        name,
        ...(kind === 'live' ? { scopes } : {}),
        ...(expires === '' ? {} : { expires_at: new Date(expires).toISOString() }),
      } as RequestBody<'keys.mint'>;
      return call('keys.mint', { params: { workspace: workspace.id }, body });
    },
    meta: { errorShownInForm: true },
    onSuccess: async (answer) => {
      onClose();
      onShow(answer, { name, kind, scopes: (kind === 'read' ? ['read'] : scopes) as NewKey['scopes'], rotated: false });
      setTyped(start);
      await queries.invalidateQueries();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Mint a key">
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={['name', 'scopes', 'expires_at']}
        pending={act.isPending}
        submit="Mint"
        onCancel={onClose}
      >
        <SegmentedControl
          aria-label="Kind"
          value={kind}
          onChange={(next) => setTyped({ ...typed, kind: next as 'live' | 'read' })}
          data={[
            { value: 'live', label: 'Ingestion key' },
            { value: 'read', label: 'Read token' },
          ]}
        />
        <p className="soft">
          {kind === 'live'
            ? 'Sends to this workspace, and reads nothing.'
            : 'Reads ledger, checkpoints, proofs and decisions: for auditors and automation. Writes nothing.'}
        </p>
        <TextInput
          label="Name"
          description="What it is for: a pipeline, a service, an auditor."
          placeholder="ci-deploy-prod"
          value={name}
          onChange={({ currentTarget }) => setTyped({ ...typed, name: currentTarget.value })}
          error={fieldError(act.error, 'name')}
          withAsterisk
          data-autofocus
        />
        {kind === 'live' && (
          <ScopeChoice
            value={scopes}
            onChange={(next) => setTyped({ ...typed, scopes: next })}
            error={fieldError(act.error, 'scopes')}
          />
        )}
        <TextInput
          label="Expires"
          description="Leave it empty for a key that does not expire."
          type="datetime-local"
          value={expires}
          onChange={({ currentTarget }) => setTyped({ ...typed, expires: currentTarget.value })}
          error={fieldError(act.error, 'expires_at')}
        />
      </Form>
    </Modal>
  );
}
