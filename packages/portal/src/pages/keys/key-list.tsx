import { ActionIcon, Button, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ListItem, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Badge } from '../../components/badge.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ConfirmDialog } from '../../forms/confirm-dialog.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import type { Column } from '../../lists/data-table.tsx';
import { EmptyState } from '../../lists/empty-state.tsx';
import { FilterBar, FilterSelect } from '../../lists/filter-bar.tsx';
import { useFilters } from '../../lists/use-filters.ts';
import { toast } from '../../toasts/toasts.tsx';
import { ChangeScopes } from './change-scopes.tsx';
import styles from './key-list.module.css';
import type { NewKey } from './new-key-dialog.tsx';

type Key = ListItem<'keys.list'>;
type PendingAction = { action: 'rotate' | 'revoke' | 'scopes'; key: Key };

/** All keys of the workspace, including revoked ones, with their actions. */
export function KeyList({
  onShow,
  onMint,
}: {
  onShow: (minted: ResponseBody<'keys.rotate'>, facts: Omit<NewKey, 'key'>) => void;
  onMint: () => void;
}) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const filters = useFilters(['kind']);
  const [pending, setPending] = useState<PendingAction>();
  const close = () => setPending(undefined);
  const params = { workspace: workspace.id, prefix: pending?.key.prefix ?? '' };
  const rotate = async () => {
    const minted = await call('keys.rotate', { params });
    // The old secret no longer works, so the new secret is shown before the lists are loaded again.
    if (pending !== undefined)
      onShow(minted, { name: pending.key.name, kind: pending.key.kind, scopes: pending.key.scopes, isRotated: true });
    void queries.invalidateQueries();
  };
  const revoke = async () => {
    await call('keys.revoke', { params });
    toast.done('Key revoked. Requests with this key are now rejected.');
    await queries.invalidateQueries();
  };
  return (
    <>
      <FilterBar filters={filters}>
        <FilterSelect
          filters={filters}
          name="kind"
          label="Kind"
          all="Keys and tokens"
          options={[
            { value: 'live', label: 'Ingestion keys' },
            { value: 'read', label: 'Read tokens' },
          ]}
        />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Keys"
          queryKey={['keys', workspace.id]}
          load={(cursor, signal) =>
            call('keys.list', { params: { workspace: workspace.id }, query: { ...(filters.values as object), cursor }, signal })
          }
          filters={filters}
          columns={columnsOf((action, key) => setPending({ action, key }))}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No keys yet">
              <p>Programs need a key to send data. Mint one key per program, with only the scopes it needs.</p>
              <Button size="xs" onClick={onMint}>
                Mint first key
              </Button>
            </EmptyState>
          }
        />
      </Panel>
      <ConfirmDialog
        opened={pending?.action === 'rotate'}
        onClose={close}
        title={`Rotate ${pending?.key.name ?? ''}`}
        submit="Rotate"
        action={rotate}
      >
        <p className="soft">The key gets a new secret, which is shown only once. The old secret stops working immediately.</p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={pending?.action === 'revoke'}
        onClose={close}
        title={`Revoke ${pending?.key.name ?? ''}`}
        submit="Revoke"
        danger
        action={revoke}
      >
        <p className="soft">The key stops working immediately and permanently. Data sent with it is kept.</p>
      </ConfirmDialog>
      {pending?.action === 'scopes' && <ChangeScopes opened onClose={close} item={pending.key} />}
    </>
  );
}

const TONES = { active: 'good', revoked: 'bad', expired: 'quiet' } as const;

const columnsOf = (start: (action: PendingAction['action'], key: Key) => void): Column<Key>[] => [
  {
    title: 'Name',
    wide: true,
    cell: ({ name, kind, prefix }) => (
      <>
        <strong>{name}</strong>
        <br />
        <code className="faint break">
          aa_{kind}_{prefix}…
        </code>
      </>
    ),
  },
  {
    title: 'Scopes',
    wide: true,
    line: true,
    cell: ({ scopes }) => (
      <span className={styles.scopes}>
        {scopes.map((scope) => (
          <Badge key={scope} tone="quiet" dot={false}>
            {scope}
          </Badge>
        ))}
      </span>
    ),
  },
  { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
  { title: 'Last used', cell: ({ last_used_at }) => <RelativeTime at={last_used_at} /> },
  { title: 'Expires', cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
  { title: 'Minted', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
  {
    title: 'Actions',
    cell: (key) =>
      key.state === 'active' ? (
        <Menu position="bottom-end" width={180}>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${key.name}`}>
              <IconDots size={17} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => start('rotate', key)}>Rotate</Menu.Item>
            {key.kind === 'live' && <Menu.Item onClick={() => start('scopes', key)}>Change scopes</Menu.Item>}
            <Menu.Item color="red" onClick={() => start('revoke', key)}>
              Revoke
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ) : (
        <span className="faint">–</span>
      ),
  },
];
