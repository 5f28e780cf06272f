import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** How the workspace stands; the overview shows it, and the navigation counts what waits. */
export const overviewQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['overview', workspace],
    queryFn: ({ signal }) => call('overview.read', { params: { workspace }, signal }),
    staleTime: 10_000,
  });

/** How much waits for a person. */
export const pendingCountsQuery = (workspace: string) =>
  queryOptions({
    ...overviewQuery(workspace),
    select: ({ approvals_pending: approvals, recertifications_open: recertifications }) => ({ approvals, recertifications }),
  });
