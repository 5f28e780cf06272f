import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isMissingOrForbidden } from '../api/problem.ts';
import styles from './loaded-content.module.css';
import { OutdatedNotice } from './outdated-notice.tsx';
import { ProblemNotice } from './problem-notice.tsx';

/**
 * A part of a page that shows the data of a query. Shows `skeleton` while the data loads, and an error if loading fails. If a later reload
 * shows that the data is missing or forbidden, an error replaces the data. If a reload fails for another reason, the data stays below a
 * notice. `inset` gives errors and notices a padding, for panels without one. `what` is the part of the page that the notice names.
 */
export function LoadedContent<T>(props: {
  query: UseQueryResult<T>;
  skeleton: ReactNode;
  inset?: boolean;
  what?: string;
  children: (data: T) => ReactNode;
}) {
  const { query, skeleton, inset = false, what, children } = props;
  const { data, error } = query;
  const className = inset ? styles.inset : undefined;
  if (data !== undefined && !isMissingOrForbidden(error))
    return (
      <>
        <OutdatedNotice query={query} what={what} className={className} />
        {children(data)}
      </>
    );
  if (!query.isError) return skeleton;
  return (
    <div className={className}>
      <ProblemNotice problem={error} retry={() => void query.refetch()} />
    </div>
  );
}
