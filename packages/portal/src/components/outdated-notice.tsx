import type { UseQueryResult } from '@tanstack/react-query';
import { toProblem } from '../api/problem.ts';
import { Notice } from './notice.tsx';
import styles from './outdated-notice.module.css';
import { RetryButton } from './retry-button.tsx';

/**
 * A notice above data that could not be updated. Shows nothing if the connection is lost or the session has ended: the page then has a
 * banner (shell/lost-connection.tsx) or a message. `what` is the part of the page that shows the data.
 */
export function OutdatedNotice({
  query,
  what = 'This page',
  className = styles.above,
}: {
  query: UseQueryResult<unknown>;
  what?: string | undefined;
  className?: string | undefined;
}) {
  if (!query.isRefetchError || ['lost', 'signed-out'].includes(toProblem(query.error).kind)) return null;
  return (
    <div className={className}>
      <Notice kind="warning" role="status">
        <div className="row">
          <p>{what} could not be updated, so it may be out of date.</p>
          <RetryButton retry={() => void query.refetch()} />
        </div>
      </Notice>
    </div>
  );
}
