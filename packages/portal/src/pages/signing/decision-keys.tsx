import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { Badge } from '../../components/badge.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { ConfirmDialog } from '../../forms/confirm-dialog.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { toast } from '../../toasts/toasts.tsx';

type Key = ResponseBody<'signing.read'>['decision_keys'][number];
type PendingAction = { action: 'show' | 'retire'; key: Key } | { action: 'rotate' };

const TONES = { signs: 'good', waits: 'warn', retired: 'quiet' } as const;
const STATE_LABELS = { signs: 'signing', waits: 'waiting', retired: 'retired' } as const;

/** The decision keys of this workspace, in all states. Admins can show, rotate and retire the keys. The ledger records these actions. */
export function DecisionKeys({ keys }: { keys: readonly Key[] }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const isAdmin = useHasRole('admin');
  const [pending, setPending] = useState<PendingAction>();
  const [shownKey, setShownKey] = useState<ResponseBody<'decision_keys.show'>>();
  const close = () => setPending(undefined);
  const params = { workspace: workspace.id };
  const keyId = pending !== undefined && 'key' in pending ? pending.key.key_id : '';
  const liveCount = keys.filter(({ state }) => state !== 'retired').length;
  const show = async () => setShownKey(await call('decision_keys.show', { params: { ...params, key: keyId } }));
  const rotate = async () => {
    await call('decision_keys.rotate', { params });
    toast.done('Key created. It starts signing when you retire the current key.');
    await queries.invalidateQueries({ queryKey: ['signing'] });
  };
  const retire = async () => {
    const { signing } = await call('decision_keys.retire', { params: { ...params, key: keyId } });
    toast.done(`Key retired. ${signing} now signs decisions.`);
    await queries.invalidateQueries({ queryKey: ['signing'] });
  };
  return (
    <Panel
      title="Decision keys"
      note="A decision key can verify decisions of this workspace, and can also forge them. Keep it secret."
      actions={
        isAdmin &&
        liveCount === 1 && (
          <Button variant="default" size="xs" onClick={() => setPending({ action: 'rotate' })}>
            Rotate
          </Button>
        )
      }
      flush
    >
      <DataTable
        label="Decision keys"
        items={keys}
        keyOf={({ key_id }) => key_id}
        columns={[
          { title: 'Key ID', wide: true, cell: ({ key_id }) => <code>{key_id}</code> },
          { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{STATE_LABELS[state]}</Badge> },
          { title: 'Created', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
          { title: 'Retired', cell: ({ retired_at }) => <RelativeTime at={retired_at} /> },
          ...(isAdmin
            ? [
                {
                  title: 'Actions',
                  cell: (each: Key) => (
                    <span className="row">
                      <Button variant="default" size="compact-xs" onClick={() => setPending({ action: 'show', key: each })}>
                        Show
                      </Button>
                      {each.state !== 'retired' && liveCount > 1 && (
                        <Button variant="default" size="compact-xs" onClick={() => setPending({ action: 'retire', key: each })}>
                          Retire
                        </Button>
                      )}
                    </span>
                  ),
                },
              ]
            : []),
        ]}
      />
      {shownKey !== undefined && (
        <div className="stack tight" style={{ padding: 16 }}>
          <p>
            Decision key <code>{shownKey.key_id}</code>, 64 hex digits. Store it only where your verifiers run.
          </p>
          <Snippet text={shownKey.decision_key} what="decision key" />
          <div>
            <Button variant="default" size="xs" onClick={() => setShownKey(undefined)}>
              Hide
            </Button>
          </div>
        </div>
      )}
      <ConfirmDialog
        opened={pending?.action === 'show'}
        onClose={close}
        title="Show the decision key?"
        submit="Show key"
        action={show}
      >
        <p className="soft">This key can forge decisions. Showing it is recorded in the audit ledger.</p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={pending?.action === 'rotate'}
        onClose={close}
        title="Rotate the decision key?"
        submit="Create key"
        action={rotate}
      >
        <p className="soft">
          This creates a second key. Give the second key to your verifiers, then retire the current key. From then on, the second
          key signs decisions. The retired key still verifies earlier decisions.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={pending?.action === 'retire'}
        onClose={close}
        title={`Retire ${keyId}?`}
        submit="Retire"
        danger
        action={retire}
      >
        <p className="soft">
          After you retire this key, the other key signs new decisions. Verifiers without the other key will reject them.
        </p>
      </ConfirmDialog>
    </Panel>
  );
}
