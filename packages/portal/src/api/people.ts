import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The members of a workspace: for the page of the members, and for the names of people elsewhere. */
export const membersQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['members', workspace],
    queryFn: ({ signal }) => call('members.list', { params: { workspace }, signal }),
    staleTime: 60_000,
  });

/** The name of a key, to show it for `key:<prefix>`. */
export const keyNameQuery = (workspace: string, prefix: string) =>
  queryOptions({
    queryKey: ['key name', workspace, prefix],
    queryFn: ({ signal }) => call('keys.name', { params: { workspace, prefix }, signal }),
    staleTime: 60_000,
  });
