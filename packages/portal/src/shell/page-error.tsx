import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { toProblem } from '../api/problem.ts';
import { Notice } from '../components/notice.tsx';
import { ReloadButton } from './page-not-loaded.tsx';

/** What is shown when a page itself fails: said, with a way on. The frame around it stays. */
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
