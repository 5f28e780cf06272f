import { Button, Tabs } from '@mantine/core';
import { useState } from 'react';
import type { ResponseBody } from '../../api/call.ts';
import { useHasRole } from '../../api/session.ts';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useFilters } from '../../lists/use-filters.ts';
import { KeyList } from './key-list.tsx';
import { KeyTrail } from './key-trail.tsx';
import { MintKey } from './mint-key.tsx';
import { type NewKey, NewKeyDialog } from './new-key-dialog.tsx';

/** The page with the ingestion keys, the read tokens and the key audit trail. Admins only. */
export function KeysPage() {
  const isAdmin = useHasRole('admin');
  const [isMinting, setIsMinting] = useState(false);
  const [newKey, setNewKey] = useState<NewKey>();
  const tab = useFilters(['tab']);
  if (!isAdmin) {
    return (
      <>
        <PageHeader title="Ingestion keys" />
        <Notice kind="quiet" title="Admins only">
          <p>Only admins of the workspace can see keys and their audit trail.</p>
        </Notice>
      </>
    );
  }
  const show = ({ key }: ResponseBody<'keys.mint'>, facts: Omit<NewKey, 'key'>) => setNewKey({ ...facts, key });
  return (
    <>
      <PageHeader
        title="Ingestion keys"
        lead="Programs send data with ingestion keys. Auditors read data with read tokens. A new key is shown only once."
        actions={<Button onClick={() => setIsMinting(true)}>Mint key</Button>}
      />
      <Tabs
        value={tab.values.tab === 'trail' ? 'trail' : 'keys'}
        onChange={(next) => tab.set({ tab: next === 'trail' ? next : undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="keys">Keys</Tabs.Tab>
          <Tabs.Tab value="trail">Audit trail</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="keys">
          <KeyList onShow={show} onMint={() => setIsMinting(true)} />
        </Tabs.Panel>
        <Tabs.Panel value="trail">
          <KeyTrail />
        </Tabs.Panel>
      </Tabs>
      <MintKey opened={isMinting} onClose={() => setIsMinting(false)} onShow={show} />
      <NewKeyDialog newKey={newKey} onClose={() => setNewKey(undefined)} />
    </>
  );
}
