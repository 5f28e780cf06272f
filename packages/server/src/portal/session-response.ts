import type { PortalRoute } from '@countersign/core/portal/route';
import type { Session, SignInResponse } from '@countersign/core/portal/session-routes';
import type { Pool } from 'pg';
import { inPersonTransaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { asApiError } from '../http/error-reply.ts';
import { hashOfToken } from '../people/secret-token.ts';
import { membershipsOf } from '../storage/memberships.ts';
import { deleteSessionOfToken, findSession, type LiveSession } from '../storage/sessions.ts';
import { type HandlerRequest, Reply } from './handler.ts';

/**
 * The response to a sign-in: the person, their workspaces and the cookie. The session of the replaced cookie ends, because the browser
 * could no longer sign out of that session. The new session has started already, and a used link cannot be used again. So even a 503
 * response sets the cookie.
 * @param token of the new session. @param workspaceId the workspace to open; null if none is chosen.
 */
export async function signInResponse(
  { parts, sessionToken }: Pick<HandlerRequest<PortalRoute>, 'parts' | 'sessionToken'>,
  token: string,
  workspaceId: string | null = null,
): Promise<Reply<SignInResponse>> {
  const { pool, cookie } = parts;
  try {
    const session = await findSession(pool, hashOfToken(token)!);
    if (session === undefined) throw new ApiError('not_signed_in'); // The session ended before the response.
    const replacedTokenSha256 = hashOfToken(sessionToken ?? '');
    if (replacedTokenSha256 !== undefined) await deleteSessionOfToken(pool, replacedTokenSha256);
    return Reply.json({ ...(await sessionResponse(pool, session)), workspace_id: workspaceId }, cookie.set(token));
  } catch (error) {
    const { code, headers, cause } = asApiError(error);
    if (code !== 'unavailable') throw error;
    throw Object.assign(new ApiError(code, [], { ...headers, ...cookie.set(token) }), { cause });
  }
}

/** The signed-in person and their workspaces. */
export async function sessionResponse(
  pool: Pool,
  {
    personId,
    email,
    name,
    hasPassword,
    expiresAt,
  }: Pick<LiveSession, 'personId' | 'email' | 'name' | 'hasPassword' | 'expiresAt'>,
): Promise<Session> {
  const memberships = await inPersonTransaction(pool, personId, membershipsOf);
  return {
    person: { id: personId, email, name, has_password: hasPassword },
    memberships: memberships.map(({ workspaceId, workspaceName, role }) => ({
      workspace: { id: workspaceId, name: workspaceName },
      role,
    })),
    expires_at: expiresAt,
  };
}
