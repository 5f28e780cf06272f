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

/** The keys that programs send and read with; for admins alone. */
export function KeysPage() {
  const admin = useHasRole('admin');
  const [minting, setMinting] = useState(false);
  const [shown, setShown] = useState<NewKey>();
  const tab = useFilters(['tab']);
  if (!admin) {
    return (
      <>
        <PageHeader title="Ingestion keys" />
        <Notice kind="quiet" title="For admins">
          <p>Keys and their audit trail are shown to admins of the workspace alone.</p>
        </Notice>
      </>
    );
  }
  const show = (answer: ResponseBody<'keys.mint'>, key: Omit<NewKey, 'key'>) => setShown({ ...key, key: answer.key });
  return (
    <>
      <PageHeader
        title="Ingestion keys"
        lead="Programs send with ingestion keys, auditors read with read tokens. A key is shown once, when it is made; nobody can see it again."
        actions={<Button onClick={() => setMinting(true)}>Mint a key</Button>}
      />
      <Tabs
        value={tab.values.tab ?? 'keys'}
        onChange={(next) => tab.set({ tab: next === 'trail' ? next : undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="keys">Keys</Tabs.Tab>
          <Tabs.Tab value="trail">Audit trail</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="keys">
          <KeyList onShow={show} onMint={() => setMinting(true)} />
        </Tabs.Panel>
        <Tabs.Panel value="trail">
          <KeyTrail />
        </Tabs.Panel>
      </Tabs>
      <MintKey opened={minting} onClose={() => setMinting(false)} onShow={show} />
      <NewKeyDialog shown={shown} onClose={() => setShown(undefined)} />
    </>
  );
}
