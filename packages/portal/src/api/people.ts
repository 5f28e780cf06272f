import { queryOptions } from '@tanstack/react-query';
import { call, type Item } from './call.ts';

type Member = Item<'members.list'>;

/** The members of a workspace: who stands behind `user:<id>`. */
export const membersQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['members', workspace],
    queryFn: ({ signal }) => call('members.list', { params: { workspace }, signal }),
    staleTime: 60_000,
  });

/** A member's name where all are in sight: two of one name are told apart by what nobody shares. */
export function nameAmong(members: readonly Member[], { person_id: id, name, email }: Member): string {
  const isShared = members.some((other) => other.person_id !== id && other.name === name);
  return isShared ? `${name}, ${email}` : name;
}

/** What a key is called: who stands behind `key:<prefix>`. */
export const keyNameQuery = (workspace: string, prefix: string) =>
  queryOptions({
    queryKey: ['key name', workspace, prefix],
    queryFn: ({ signal }) => call('keys.name', { params: { workspace, prefix }, signal }),
    staleTime: 60_000,
  });
