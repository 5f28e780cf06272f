import { Button, Modal } from '@mantine/core';
import { EXAMPLE_AGENT } from '../../components/example-agent.ts';
import { Notice } from '../../components/notice.tsx';
import { Snippet } from '../../components/snippet.tsx';
import { curlLine } from '../../lists/empty-state.tsx';
import type { Key } from './key-list.tsx';

/** A key that was just made, and what it is for. */
export interface NewKey {
  key: string;
  name: string;
  kind: Key['kind'];
  scopes: Key['scopes'];
  rotated: boolean;
}

/** Shows a new key, this once, with a line that works as it is. Closes by its button alone: a stray click must not lose the key. */
export function NewKeyDialog({ shown, onClose }: { shown: NewKey | undefined; onClose: () => void }) {
  return (
    <Modal
      opened={shown !== undefined}
      onClose={onClose}
      title={shown?.rotated === true ? `New secret of ${shown.name}` : `Key ${shown?.name ?? ''}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {shown !== undefined && (
        <div className="stack">
          <Notice kind="warning" title="Copy it now: it is shown this once">
            <p>Only its hash is kept. {shown.rotated && 'The old secret is dead already.'}</p>
          </Notice>
          <Snippet text={shown.key} what="key" />
          {shown.kind === 'live' && (
            <>
              <p className="soft">The examples of these pages read the key from a variable. Set it in your shell first:</p>
              <Snippet text={`export COUNTERSIGN_API_KEY='${shown.key}'`} what="export line" />
            </>
          )}
          <p className="soft">A line that works now:</p>
          <Snippet text={firstLine(shown)} what="curl line" />
          <div className="row" style={{ justifyContent: 'flex-end' }}>
            <Button onClick={onClose}>I have copied it</Button>
          </div>
        </div>
      )}
    </Modal>
  );
}

/** A call that the key's scopes allow. */
function firstLine({ key, kind, scopes }: NewKey): string {
  if (kind === 'read')
    return `curl -s ${window.location.origin}/api/ledger/audit/checkpoint \\\n  -H "Authorization: Bearer ${key}"`;
  if (scopes.includes('telemetry'))
    return curlLine('/api/public/telemetry', { trace_id: 'hello-1', outcome: 'success', agent_name: EXAMPLE_AGENT }, key);
  if (scopes.includes('evaluations'))
    return curlLine(
      '/api/public/evaluations',
      { name: 'first-evaluation', agent_name: EXAMPLE_AGENT, status: 'passing', pass_rate: 92.5 },
      key,
    );
  if (scopes.includes('audit')) return curlLine('/api/public/audit', { actor: 'ci:first', action: 'key.tried' }, key);
  return curlLine('/api/public/governance/promotion-check', { agent_name: EXAMPLE_AGENT }, key);
}
