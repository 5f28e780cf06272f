import { toProblem } from '../api/problem.ts';
import { Notice } from './notice.tsx';
import { RetryButton } from './retry-button.tsx';

const TITLES = {
  lost: 'No connection',
  'signed-out': 'Signed out',
  'wrong-password': 'Not signed in',
  forbidden: 'Not allowed',
  missing: 'Not found',
  gone: 'Link no longer valid',
  invalid: 'Invalid request',
  conflict: 'Changed in the meantime',
  limited: 'Too many requests',
  server: 'Server error',
  page: 'Page error',
} as const;

/** Shows why content could not be loaded, or why an action failed. Offers a retry if a retry can succeed. */
export function ProblemNotice({ problem: error, retry }: { problem: unknown; retry?: () => void }) {
  const problem = toProblem(error);
  return (
    <Notice kind={problem.kind === 'missing' ? 'quiet' : 'problem'} title={TITLES[problem.kind]} role="alert">
      <p>{problem.message}</p>
      {problem.kind === 'server' && problem.requestId !== undefined && (
        <p className="faint">
          Request ID <code>{problem.requestId}</code>. Use it to find the error in the server log.
        </p>
      )}
      {problem.isRetryable && retry !== undefined && <RetryButton retry={retry} />}
    </Notice>
  );
}
