import { Modal, SegmentedControl, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type RequestBody, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import type { NewKey } from './new-key-dialog.tsx';
import { ScopeSelect } from './scope-select.tsx';

const EMPTY_FORM = { kind: 'live' as 'live' | 'read', name: '', scopes: ['telemetry'] as string[], expires: '' };

/** A dialog that mints an ingestion key or a read token. `preset` contains the initial name and scopes. */
export function MintKey(props: {
  opened: boolean;
  onClose: () => void;
  onShow: (minted: ResponseBody<'keys.mint'>, facts: Omit<NewKey, 'key'>) => void;
  preset?: { name: string; scopes: string[] };
}) {
  const { opened, onClose, onShow, preset } = props;
  const initialValues = { ...EMPTY_FORM, ...preset };
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const [values, setValues] = useState(initialValues);
  const { kind, name, scopes, expires } = values;
  const mutation = useMutation({
    mutationFn: () => {
      const body = {
        kind,
        name,
        ...(kind === 'live' ? { scopes } : {}),
        ...(expires === '' ? {} : { expires_at: asUtc(expires) }),
      } as RequestBody<'keys.mint'>;
      return call('keys.mint', { params: { workspace: workspace.id }, body });
    },
    meta: { errorShownInForm: true },
    onSuccess: async (minted) => {
      onClose();
      onShow(minted, { name, kind, scopes: (kind === 'read' ? ['read'] : scopes) as NewKey['scopes'], isRotated: false });
      setValues(initialValues);
      await queries.invalidateQueries();
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Mint key">
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['name', 'scopes', 'expires_at']}
        pending={mutation.isPending}
        submit="Mint"
        onCancel={onClose}
      >
        <SegmentedControl
          aria-label="Kind"
          value={kind}
          onChange={(next) => setValues({ ...values, kind: next as 'live' | 'read' })}
          data={[
            { value: 'live', label: 'Ingestion key' },
            { value: 'read', label: 'Read token' },
          ]}
        />
        <p className="soft">
          {kind === 'live'
            ? 'Depending on its scopes, an ingestion key can send data and request promotion decisions. It cannot read the logs.'
            : 'For auditors and automation. A read token can read checkpoints, proofs, decisions and all logs except the key audit trail.'}
        </p>
        <TextInput
          label="Name"
          description="What the key is for, such as a pipeline, a service or an auditor."
          placeholder="ci-deploy-prod"
          value={name}
          onChange={({ currentTarget }) => setValues({ ...values, name: currentTarget.value })}
          error={fieldError(mutation.error, 'name')}
          withAsterisk
          data-autofocus
        />
        {kind === 'live' && (
          <ScopeSelect
            value={scopes}
            onChange={(next) => setValues({ ...values, scopes: next })}
            error={fieldError(mutation.error, 'scopes')}
          />
        )}
        <TextInput
          label="Expires"
          description="In your time zone. Leave empty for a key that does not expire."
          type="datetime-local"
          max="9999-12-31T23:59"
          value={expires}
          onChange={({ currentTarget }) => setValues({ ...values, expires: currentTarget.value })}
          error={fieldError(mutation.error, 'expires_at')}
        />
      </Form>
    </Modal>
  );
}

/** A local time as a time in UTC. An invalid time, such as one in the year 20277, is returned unchanged, so that the server rejects it. */
const asUtc = (local: string): string => (Number.isNaN(Date.parse(local)) ? local : new Date(local).toISOString());
