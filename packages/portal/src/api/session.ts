import type { Role } from '@countersign/core/portal/route';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { createContext, use } from 'react';
import { call, type ResponseBody } from './call.ts';

export type Session = ResponseBody<'session.show'>;

/** Who is signed in; the first thing that every page asks. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => call('session.show', { signal }),
  staleTime: 60_000,
});

export const useSession = () => useQuery(sessionQuery);

/** The workspace that the page is about, and what the person may do there. */
export interface Here {
  workspace: { id: string; name: string };
  role: Role;
  person: Session['person'];
}

export const WorkspaceContext = createContext<Here | undefined>(undefined);

/** The workspace of the page. Only below the workspace's frame. */
export function useWorkspace(): Here {
  const here = use(WorkspaceContext);
  if (here === undefined) throw new Error('useWorkspace stands outside of a workspace');
  return here;
}

const ORDER: readonly Role[] = ['viewer', 'approver', 'admin'];

/** Whether the person has a role, or one with more rights. The server decides; this only hides what it would refuse. */
export const useHasRole = (role: Role): boolean => ORDER.indexOf(useWorkspace().role) >= ORDER.indexOf(role);
