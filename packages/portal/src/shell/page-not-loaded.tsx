import { Button } from '@mantine/core';
import { useState } from 'react';
import { fetchFromServer } from '../api/call.ts';
import { Notice } from '../components/notice.tsx';
import { toast } from '../toasts/toasts.tsx';

/** Whether the server answers now. */
export async function serverAnswers(): Promise<boolean> {
  try {
    const { status } = await fetchFromServer('/readyz', { cache: 'no-store' });
    return status !== 502 && status !== 504;
  } catch {
    return false;
  }
}

/** In place of a page whose code could not be loaded: because the server is away, or because it was updated and has other code now. */
export function PageNotLoaded({ lost, trying, tryAgain }: { lost: boolean; trying: boolean; tryAgain: () => void }) {
  return (
    <Notice kind="problem" title="This page could not be loaded" role="alert">
      <p>
        {lost
          ? 'The server does not answer. The page opens by itself when the server is back.'
          : 'The server answers, but not with the code of this page. If it was updated, reload the page.'}
      </p>
      <div className="row">
        <Button variant="default" loading={trying} onClick={tryAgain}>
          Try again
        </Button>
        {!lost && <ReloadButton />}
      </div>
    </Notice>
  );
}

/** Reloads the document, but only while the server answers: else the browser would show its own error screen. */
export function ReloadButton() {
  const [asking, setAsking] = useState(false);
  const reload = async () => {
    setAsking(true);
    if (await serverAnswers()) window.location.reload();
    else toast.problem('The server does not answer. Reload the page when it is back.');
    setAsking(false);
  };
  return (
    <Button variant="subtle" loading={asking} onClick={() => void reload()}>
      Reload the page
    </Button>
  );
}
