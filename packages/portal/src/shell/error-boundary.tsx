import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { asProblem } from '../api/problem.ts';
import { Notice } from '../pieces/notice.tsx';

/** What is shown when a page itself fails: said, with a way on. The frame around it stays. */
export function PageFault({ error, reset }: ErrorComponentProps) {
  const problem = asProblem(error);
  // A page's code that cannot be loaded is a server that was updated meanwhile, or a lost connection: loading anew mends both.
  return (
    <Notice kind="problem" title="This page could not be shown" role="alert">
      <p>{problem.message}</p>
      <div className="row">
        <Button variant="default" onClick={() => window.location.reload()}>
          Reload the page
        </Button>
        <Button variant="subtle" onClick={reset}>
          Try again
        </Button>
      </div>
    </Notice>
  );
}
