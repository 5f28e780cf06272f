import { Button, Modal } from '@mantine/core';
import type { ListItem } from '../../api/call.ts';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { Notice } from '../../components/notice.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { curlCommand } from '../../lists/empty-state.tsx';

type Key = ListItem<'keys.list'>;

/** A key that was minted or rotated just now. `key` is its whole text. */
export interface NewKey {
  key: string;
  name: string;
  kind: Key['kind'];
  scopes: Key['scopes'];
  isRotated: boolean;
}

/** A dialog with a new key and an example request. Only its last button closes the dialog, because the key is not shown again. */
export function NewKeyDialog({ newKey, onClose }: { newKey: NewKey | undefined; onClose: () => void }) {
  return (
    <Modal
      opened={newKey !== undefined}
      onClose={onClose}
      title={newKey?.isRotated === true ? `New secret for ${newKey.name}` : `Key ${newKey?.name ?? ''}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {newKey !== undefined && (
        <div className="stack">
          <Notice kind="warning" title="Copy the key now. It is shown only once.">
            <p>The server stores only a hash of the secret. {newKey.isRotated && 'The old secret no longer works.'}</p>
          </Notice>
          <Snippet text={newKey.key} what="key" />
          {newKey.kind === 'live' && (
            <>
              <p className="soft">
                The examples in this portal read the key from an environment variable. Set the variable in your shell:
              </p>
              <Snippet text={`export COUNTERSIGN_API_KEY='${newKey.key}'`} what="export command" />
            </>
          )}
          <p className="soft">Example request:</p>
          <Snippet text={exampleCommand(newKey)} what="curl command" />
          <div className="row" style={{ justifyContent: 'flex-end' }}>
            <Button onClick={onClose}>I have copied it</Button>
          </div>
        </div>
      )}
    </Modal>
  );
}

/** An example request that the key's scopes allow. */
function exampleCommand({ key, kind, scopes }: NewKey): string {
  if (kind === 'read')
    return `curl -s ${window.location.origin}/api/ledger/audit/checkpoint \\\n  -H "Authorization: Bearer ${key}"`;
  if (scopes.includes('telemetry'))
    return curlCommand('/api/public/telemetry', { trace_id: 'hello-1', outcome: 'success', agent_name: EXAMPLE_AGENT }, key);
  if (scopes.includes('evaluations'))
    return curlCommand(
      '/api/public/evaluations',
      { name: 'first-evaluation', agent_name: EXAMPLE_AGENT, status: 'passing', pass_rate: 92.5 },
      key,
    );
  if (scopes.includes('audit')) return curlCommand('/api/public/audit', { actor: 'ci:first', action: 'key.tried' }, key);
  return curlCommand('/api/public/governance/promotion-check', { agent_name: EXAMPLE_AGENT }, key);
}
