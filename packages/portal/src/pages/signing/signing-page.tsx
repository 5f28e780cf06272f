import { useQuery } from '@tanstack/react-query';
import { call, type ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Badge } from '../../components/badge.tsx';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { DecisionKeys } from './decision-keys.tsx';
import { TrustFile } from './trust-file.tsx';

type Jwk = { kid: string; x: string; note_key?: string; created_at?: string; retired_at?: string };

const LEAD =
  'Each decision is signed with a key of this workspace (HMAC-SHA256) and attested with a key of this instance (Ed25519). ' +
  'Anyone can verify the attestation.';

/** The page with the workspace's decision keys, the instance's public keys, and the trust file. */
export function SigningPage() {
  const { workspace } = useWorkspace();
  const signing = useQuery({
    queryKey: ['signing', workspace.id],
    queryFn: ({ signal }) => call('signing.read', { params: { workspace: workspace.id }, signal }),
  });
  return (
    <>
      <PageHeader title="Signing" lead={LEAD} />
      <LoadedContent query={signing} skeleton={<BlockSkeleton heightPx={300} />}>
        {({ decision_keys, public_keys }) => (
          <div className="stack">
            <DecisionKeys keys={decision_keys} />
            <PublicKeys keys={public_keys} />
            <TrustFile keys={public_keys} />
          </div>
        )}
      </LoadedContent>
    </>
  );
}

function PublicKeys({ keys }: { keys: ResponseBody<'signing.read'>['public_keys'] }) {
  return (
    <Panel
      title="Public keys of this instance"
      note="Use these keys to verify checkpoints and attestations. Keep a copy where this server cannot change it."
      actions={
        <a href="/.well-known/jwks.json" target="_blank" rel="noreferrer">
          Open as JWKS
        </a>
      }
      flush
    >
      <DataTable
        label="Public keys"
        items={keys as unknown as Jwk[]}
        keyOf={({ kid }) => kid}
        columns={[
          { title: 'Key ID', cell: ({ kid }) => <Identifier value={kid} what="the key ID" shownCharacters={16} /> },
          {
            title: 'Verifier key (signed notes)',
            wide: true,
            line: true,
            cell: ({ note_key, x }) => <Identifier value={note_key ?? x} what="the verifier key" shownCharacters={44} />,
          },
          {
            title: 'State',
            cell: ({ retired_at }) => (
              <Badge tone={retired_at === undefined ? 'good' : 'quiet'}>{retired_at === undefined ? 'signing' : 'retired'}</Badge>
            ),
          },
          { title: 'Created', cell: ({ created_at }) => <RelativeTime at={created_at ?? null} /> },
        ]}
      />
    </Panel>
  );
}
