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

export type Key = ListItem<'keys.list'>;
type Asked = { act: 'rotate' | 'revoke' | 'scopes'; key: Key };

/** All keys of the workspace, revoked ones too, and what can be done with each. */
export function KeyList({
  onShow,
  onMint,
}: {
  onShow: (answer: ResponseBody<'keys.rotate'>, key: Omit<NewKey, 'key'>) => void;
  onMint: () => void;
}) {
  const { workspace } = useWorkspace();
  const queries = useQueryClient();
  const filters = useFilters(['kind']);
  const [asked, setAsked] = useState<Asked>();
  const close = () => setAsked(undefined);
  const params = { workspace: workspace.id, prefix: asked?.key.prefix ?? '' };
  const rotate = async () => {
    const answer = await call('keys.rotate', { params });
    await queries.invalidateQueries();
    if (asked !== undefined)
      onShow(answer, { name: asked.key.name, kind: asked.key.kind, scopes: asked.key.scopes, rotated: true });
  };
  const revoke = async () => {
    await call('keys.revoke', { params });
    toast.done('The key is revoked: its next request is refused.');
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
          columns={columnsOf((act, key) => setAsked({ act, key }))}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No keys yet">
              <p>A program needs a key to send anything. Mint one for each that sends, with no more scopes than it needs.</p>
              <Button size="xs" onClick={onMint}>
                Mint the first key
              </Button>
            </EmptyState>
          }
        />
      </Panel>
      <ConfirmDialog
        opened={asked?.act === 'rotate'}
        onClose={close}
        title={`Rotate ${asked?.key.name ?? ''}`}
        submit="Rotate"
        act={rotate}
      >
        <p className="soft">The key gets a new secret, shown once. The old one is refused with its very next request.</p>
      </ConfirmDialog>
      <ConfirmDialog
        opened={asked?.act === 'revoke'}
        onClose={close}
        title={`Revoke ${asked?.key.name ?? ''}`}
        submit="Revoke"
        danger
        act={revoke}
      >
        <p className="soft">The key is refused from its next request on, for good. What was sent with it stays.</p>
      </ConfirmDialog>
      {asked?.act === 'scopes' && <ChangeScopes opened onClose={close} item={asked.key} />}
    </>
  );
}

const STATES = { active: 'good', revoked: 'bad', expired: 'quiet' } as const;

const columnsOf = (ask: (act: Asked['act'], key: Key) => void): Column<Key>[] => [
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
  { title: 'State', cell: ({ state }) => <Badge tone={STATES[state]}>{state}</Badge> },
  { title: 'Last used', cell: ({ last_used_at }) => <RelativeTime at={last_used_at} /> },
  { title: 'Expires', cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
  { title: 'Minted', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
  {
    title: 'Act',
    cell: (key) =>
      key.state === 'active' ? (
        <Menu position="bottom-end" width={180}>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`What to do with ${key.name}`}>
              <IconDots size={17} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => ask('rotate', key)}>Rotate</Menu.Item>
            {key.kind === 'live' && <Menu.Item onClick={() => ask('scopes', key)}>Change scopes</Menu.Item>}
            <Menu.Item color="red" onClick={() => ask('revoke', key)}>
              Revoke
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ) : (
        <span className="faint">–</span>
      ),
  },
];
