import { Button, Modal } from '@mantine/core';
import type { ResponseBody } from '../../api/call.ts';
import { Notice } from '../../components/notice.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Snippet } from '../../components/snippet.tsx';

/** A new one-time link with the title of its dialog. */
export type OneTimeLink = ResponseBody<'invitations.create'> & { title: string };

/** A dialog with a new one-time link. Only its last button closes the dialog, because the link is not shown again. */
export function OneTimeLinkDialog({ link, onClose }: { link: OneTimeLink | undefined; onClose: () => void }) {
  return (
    <Modal
      opened={link !== undefined}
      onClose={onClose}
      title={link?.title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {link !== undefined && (
        <div className="stack">
          <Notice kind="warning" title="Copy the link now. It is shown only once.">
            <p>
              Send the link over a secure channel. The link works once and expires <RelativeTime at={link.expires_at} />.
            </p>
          </Notice>
          <Snippet text={window.location.origin + link.path} what="one-time link" />
          <div className="row" style={{ justifyContent: 'flex-end' }}>
            <Button onClick={onClose}>I have copied it</Button>
          </div>
        </div>
      )}
    </Modal>
  );
}
