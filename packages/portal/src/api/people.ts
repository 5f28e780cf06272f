import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The members of a workspace: who stands behind `user:<id>`. */
export const membersQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['members', workspace],
    queryFn: ({ signal }) => call('members.list', { params: { workspace }, signal }),
    staleTime: 60_000,
  });
