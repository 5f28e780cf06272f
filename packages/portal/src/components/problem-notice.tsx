import { Button } from '@mantine/core';
import { toProblem } from '../api/problem.ts';
import { Notice } from './notice.tsx';

const TITLES = {
  lost: 'No connection',
  'signed-out': 'Signed out',
  'wrong-password': 'Not signed in',
  forbidden: 'Not allowed',
  missing: 'Not found',
  gone: 'No longer valid',
  invalid: 'Not accepted',
  conflict: 'Changed meanwhile',
  limited: 'Slow down',
  server: 'The server failed',
} as const;

/** A problem in place of what could not be loaded, with a way to try again where that may help. */
export function ProblemNotice({ problem: thrown, retry }: { problem: unknown; retry?: () => void }) {
  const problem = toProblem(thrown);
  return (
    <Notice kind={problem.kind === 'missing' ? 'quiet' : 'problem'} title={TITLES[problem.kind]} role="alert">
      <p>{problem.message}</p>
      {problem.kind === 'server' && problem.requestId !== undefined && (
        <p className="faint">
          Request <code>{problem.requestId}</code> finds it in the server's log.
        </p>
      )}
      {problem.passing && retry !== undefined && (
        <Button variant="default" size="xs" onClick={retry}>
          Try again
        </Button>
      )}
    </Notice>
  );
}
