import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { toProblem } from '../api/problem.ts';
import { Notice } from '../components/notice.tsx';
import { ReloadButton } from './page-not-loaded.tsx';

/** Replaces a route that throws an error. If the page has a frame, the frame stays usable. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const problem = toProblem(error);
  return (
    <Notice kind="problem" title="This page could not be shown" role="alert">
      <p>{problem.message}</p>
      <div className="row">
        <Button variant="default" onClick={reset}>
          Try again
        </Button>
        <ReloadButton />
      </div>
    </Notice>
  );
}
