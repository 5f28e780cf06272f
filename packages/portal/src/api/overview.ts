import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The state of the workspace, for the overview and the counts in the navigation. */
export const overviewQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['overview', workspace],
    queryFn: ({ signal }) => call('overview.read', { params: { workspace }, signal }),
    staleTime: 10_000,
  });

/** The server counts pending approvals and open re-certifications only up to this number. */
export const PENDING_COUNT_MAX = 1_000;

/** The numbers of pending approvals and open re-certifications. */
export const pendingCountsQuery = (workspace: string) =>
  queryOptions({
    ...overviewQuery(workspace),
    select: ({ approvals_pending: approvals, recertifications_open: recertifications }) => ({ approvals, recertifications }),
  });
