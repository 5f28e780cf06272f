import { Button, Modal } from '@mantine/core';
import type { ResponseBody } from '../../api/call.ts';
import { Notice } from '../../components/notice.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';

/** A one-time link that was just made, and what for. */
export type OneTimeLink = ResponseBody<'invitations.create'> & { what: string };

/** Shows a one-time link, this once. Closes by its button alone. */
export function OneTimeLinkDialog({ shown, onClose }: { shown: OneTimeLink | undefined; onClose: () => void }) {
  return (
    <Modal
      opened={shown !== undefined}
      onClose={onClose}
      title={shown?.what}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {shown !== undefined && (
        <div className="stack">
          <Notice kind="warning" title="Copy it now: it is shown this once">
            <p>
              Pass it on by a way you trust. It works once, and ends <RelativeTime at={shown.expires_at} />.
            </p>
          </Notice>
          <Snippet text={window.location.origin + shown.path} what="one-time link" />
          <div className="row" style={{ justifyContent: 'flex-end' }}>
            <Button onClick={onClose}>I have copied it</Button>
          </div>
        </div>
      )}
    </Modal>
  );
}
