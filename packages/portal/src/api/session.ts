import type { Role } from '@countersign/core/portal/route';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { createContext, use } from 'react';
import { call, type ResponseBody } from './call.ts';

export type Session = ResponseBody<'session.show'>;

/** The session of the signed-in person. Every page after the sign-in loads it first. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => call('session.show', { signal }),
  staleTime: 60_000,
});

export const useSession = () => useQuery(sessionQuery);

/** The workspace of the page, the signed-in person, and the role of this person in the workspace. */
export interface WorkspaceAccess {
  workspace: { id: string; name: string };
  role: Role;
  person: Session['person'];
}

export const WorkspaceContext = createContext<WorkspaceAccess | undefined>(undefined);

/** Returns the workspace, the role and the person of the page. Throws outside WorkspaceFrame. */
export function useWorkspace(): WorkspaceAccess {
  const access = use(WorkspaceContext);
  if (access === undefined) throw new Error('useWorkspace was called outside a workspace');
  return access;
}

const ROLES_ASCENDING: readonly Role[] = ['viewer', 'approver', 'admin'];

/** Whether the person has this role or a higher one. The portal hides actions of higher roles; the server rejects them. */
export const useHasRole = (role: Role): boolean => ROLES_ASCENDING.indexOf(useWorkspace().role) >= ROLES_ASCENDING.indexOf(role);
