import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isMissingOrForbidden } from '../api/problem.ts';
import { useWorkspace } from '../api/session.ts';
import { BlockSkeleton } from './block-skeleton.tsx';
import { OutdatedNotice } from './outdated-notice.tsx';
import { PageHeader } from './page-header.tsx';
import { ProblemNotice } from './problem-notice.tsx';

/** The page that lists records of one kind, and its title. */
interface ListPage {
  to:
    | '/w/$workspace/agents'
    | '/w/$workspace/runs'
    | '/w/$workspace/evaluations'
    | '/w/$workspace/decisions'
    | '/w/$workspace/approvals'
    | '/w/$workspace/incidents'
    | '/w/$workspace/ledger';
  label: string;
}

/**
 * The page of one record. Shows a skeleton while the record loads, and an error if loading fails. If a later reload shows that the record
 * is missing or forbidden, an error replaces the record. If a reload fails for another reason, the record stays below a notice. `children`
 * renders the loaded record; its parameter `crumb` is the link to the list, for the header of the page.
 */
export function DetailPage<T>(props: {
  title: string;
  list: ListPage;
  query: UseQueryResult<T>;
  skeletonHeightPx: number;
  children: (data: T, crumb: ReactNode) => ReactNode;
}) {
  const { title, list, query, skeletonHeightPx, children } = props;
  const { workspace } = useWorkspace();
  const crumb = (
    <Link to={list.to} params={{ workspace: workspace.id }}>
      {list.label}
    </Link>
  );
  const { data, error } = query;
  const isShown = data !== undefined && !isMissingOrForbidden(error);
  return (
    <>
      {isShown && <OutdatedNotice query={query} />}
      {isShown ? (
        children(data, crumb)
      ) : (
        <>
          <PageHeader title={title} crumb={crumb} />
          {query.isError ? (
            <ProblemNotice problem={error} retry={() => void query.refetch()} />
          ) : (
            <BlockSkeleton heightPx={skeletonHeightPx} />
          )}
        </>
      )}
    </>
  );
}
