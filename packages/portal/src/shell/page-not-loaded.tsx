import { Button } from '@mantine/core';
import { useState } from 'react';
import { fetchFromServer } from '../api/call.ts';
import { Notice } from '../components/notice.tsx';
import { toast } from '../toasts/toasts.tsx';

/** Whether the server responds now. Status 502 and 504 do not count, because a proxy sends them. */
export async function isServerUp(): Promise<boolean> {
  try {
    const { status } = await fetchFromServer('/readyz', { cache: 'no-store' });
    return status !== 502 && status !== 504;
  } catch {
    return false;
  }
}

/** Replaces a page whose code could not be loaded, for example because the server is down or was updated. */
export function PageNotLoaded({
  isConnectionLost,
  isRetrying,
  onRetry,
}: {
  isConnectionLost: boolean;
  isRetrying: boolean;
  onRetry: () => void;
}) {
  return (
    <Notice kind="problem" title="This page could not be loaded" role="alert">
      <p>
        {isConnectionLost
          ? 'The server is not responding. The page opens automatically when the server is back.'
          : 'The server did not send the code of this page. If the server was updated, reload the page.'}
      </p>
      <div className="row">
        <Button variant="default" loading={isRetrying} onClick={onRetry}>
          Try again
        </Button>
        {!isConnectionLost && <ReloadButton />}
      </div>
    </Notice>
  );
}

/** Reloads the document if the server responds. Otherwise shows a toast, because a reload would show the browser's error page. */
export function ReloadButton() {
  const [isChecking, setIsChecking] = useState(false);
  const reload = async () => {
    setIsChecking(true);
    if (await isServerUp()) window.location.reload();
    else toast.problem('The server is not responding. Reload the page when it is back.');
    setIsChecking(false);
  };
  return (
    <Button variant="subtle" loading={isChecking} onClick={() => void reload()}>
      Reload the page
    </Button>
  );
}
