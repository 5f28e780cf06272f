import { trustFileText } from '@countersign/core/domain/trust-file';
import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Panel } from '../../components/panel.tsx';
import { Snippet } from '../../components/snippet.tsx';

const NOTE =
  'With this file, countersign gate --trust trust.json accepts only decisions of this workspace. The file contains no secret. ' +
  'Download it again when the public keys above change.';

/** The trust file of the workspace for `countersign gate --trust`, to copy or download. */
export function TrustFile({ keys }: { keys: ResponseBody<'signing.read'>['public_keys'] }) {
  const { workspace } = useWorkspace();
  const text = trustFileText({ workspace: { id: workspace.id, name: workspace.name }, url: window.location.origin, keys });
  return (
    <Panel
      title="Trust file for CI"
      note={NOTE}
      actions={
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconDownload size={15} aria-hidden />}
          onClick={() => download(text)}
        >
          Download
        </Button>
      }
    >
      <Snippet text={text.trimEnd()} what="the trust file" />
    </Panel>
  );
}

/** Downloads a text as trust.json, the name that the documentation uses. */
function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'trust.json';
  link.click();
  URL.revokeObjectURL(url);
}
