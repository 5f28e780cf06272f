import { trustFileText } from '@countersign/core/domain/trust-file';
import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Panel } from '../../components/panel.tsx';
import { Snippet } from '../../components/snippet.tsx';

/** The trust file of the workspace, to be copied or kept as a file: what `countersign gate --trust` takes. */
export function TrustFile({ keys }: { keys: ResponseBody<'signing.read'>['public_keys'] }) {
  const { workspace } = useWorkspace();
  const text = trustFileText({ workspace: { id: workspace.id, name: workspace.name }, url: window.location.origin, keys });
  return (
    <Panel
      title="Trust file for CI"
      note="With it, countersign gate --trust trust.json believes only decisions of this workspace. It holds no secret. Renew it after each key rotation."
      actions={
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconDownload size={15} aria-hidden />}
          onClick={() => save(text)}
        >
          Download
        </Button>
      }
    >
      <Snippet text={text.trimEnd()} what="the trust file" />
    </Panel>
  );
}

/** Saves a text under the name that the documentation uses. */
function save(text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = 'trust.json';
  link.click();
  URL.revokeObjectURL(address);
}
