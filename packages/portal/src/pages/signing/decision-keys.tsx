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
type Asked = { act: 'show' | 'retire'; key: Key } | { act: 'rotate' };

const TONES = { signs: 'good', waits: 'warn', retired: 'quiet' } as const;

/** The keys that sign this workspace's decisions. Admins show, rotate and retire them; each of these acts is in the ledger. */
export function DecisionKeys({ keys }: { keys: readonly Key[] }) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const admin = useHasRole('admin');
  const [asked, setAsked] = useState<Asked>();
  const [shown, setShown] = useState<ResponseBody<'decision_keys.show'>>();
  const close = () => setAsked(undefined);
  const params = { workspace: workspace.id };
  const key = asked !== undefined && 'key' in asked ? asked.key.key_id : '';
  const live = keys.filter(({ state }) => state !== 'retired').length;
  const show = async () => setShown(await call('decision_keys.show', { params: { ...params, key } }));
  const rotate = async () => {
    await call('decision_keys.rotate', { params });
    toast.done('A second key is made. It signs as soon as you retire the older one.');
    await queries.invalidateQueries({ queryKey: ['signing'] });
  };
  const retire = async () => {
    const { signing } = await call('decision_keys.retire', { params: { ...params, key } });
    toast.done(`The key is retired; ${signing} signs now.`);
    await queries.invalidateQueries({ queryKey: ['signing'] });
  };
  return (
    <Panel
      title="Decision keys"
      note="Whoever has a decision key can check decisions of this workspace, and forge them."
      actions={
        admin &&
        live === 1 && (
          <Button variant="default" size="xs" onClick={() => setAsked({ act: 'rotate' })}>
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
          { title: 'Key id', wide: true, cell: ({ key_id }) => <code>{key_id}</code> },
          { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
          { title: 'Made', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
          { title: 'Retired', cell: ({ retired_at }) => <RelativeTime at={retired_at} /> },
          ...(admin
            ? [
                {
                  title: 'Act',
                  cell: (each: Key) => (
                    <span className="row">
                      <Button variant="default" size="compact-xs" onClick={() => setAsked({ act: 'show', key: each })}>
                        Show
                      </Button>
                      {each.state !== 'retired' && live > 1 && (
                        <Button variant="default" size="compact-xs" onClick={() => setAsked({ act: 'retire', key: each })}>
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
      {shown !== undefined && (
        <div className="stack tight" style={{ padding: 16 }}>
          <p>
            Decision key <code>{shown.key_id}</code>, 64 hex digits. Keep it where your verifiers run, and nowhere else.
          </p>
          <Snippet text={shown.decision_key} what="decision key" />
          <div>
            <Button variant="default" size="xs" onClick={() => setShown(undefined)}>
              Hide it
            </Button>
          </div>
        </div>
      )}
      <ConfirmDialog opened={asked?.act === 'show'} onClose={close} title="Show the decision key?" submit="Show it" act={show}>
        <p className="soft">Whoever has it can forge decisions. That you looked at it is written into the audit ledger.</p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={asked?.act === 'rotate'}
        onClose={close}
        title="Rotate the decision key?"
        submit="Make a second key"
        act={rotate}
      >
        <p className="soft">
          A second key is made and waits. Give it to your verifiers, then retire the older one: from then on the new one signs.
          Old decisions stay checkable by the old key.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={asked?.act === 'retire'}
        onClose={close}
        title={`Retire ${key}?`}
        submit="Retire"
        danger
        act={retire}
      >
        <p className="soft">It signs nothing any more. Verifiers that do not know the other key will refuse new decisions.</p>
      </ConfirmDialog>
    </Panel>
  );
}
