import type { IncomingHttpHeaders } from 'node:http';
import { mayActAs, type PortalRoute, ROLES, type Role } from '@countersign/core/portal/route';
import { clockOf } from '../database/clock.ts';
import { inTenantTransactionForPerson } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { hashOfToken } from '../people/secret-token.ts';
import { findSession, findSessionInTenant, type LiveSession, touchSession } from '../storage/sessions.ts';
import type { ActingMember } from '../workspace/actor.ts';
import type { SignedInPerson } from './handler.ts';
import type { PortalParts } from './portal-parts.ts';

/** The requester, with the facts that the rule of the route needs. */
export interface Requester {
  person?: SignedInPerson;
  workspace?: string;
  role?: Role;
  /** The person and the role that the route requires. Actions check in their transaction that the person still has the role. */
  actor?: ActingMember;
}

/** Whether a rule needs a role in a workspace. */
export const isRole = (access: PortalRoute['access']): access is Role => (ROLES as readonly string[]).includes(access);

/**
 * Checks a request against the rule of its route: session (401), membership in the workspace of the path (404, which does not reveal
 * whether the workspace exists), role (403). These facts are read again for each request and never cached.
 */
export async function authorize(
  parts: PortalParts,
  access: PortalRoute['access'],
  headers: IncomingHttpHeaders,
  params: Readonly<Record<string, string>>,
): Promise<Requester> {
  if (access === 'anyone') return {};
  const tokenSha256 = hashOfToken(parts.cookie.read(headers.cookie) ?? '');
  if (tokenSha256 === undefined) throw new ApiError('not_signed_in');
  const sessionOfToken = await findSession(parts.sessionPool, tokenSha256);
  if (!isRole(access) || sessionOfToken === undefined) return { person: personOf(parts, sessionOfToken) };
  const { workspace } = params;
  if (workspace === undefined) throw new Error('a route for members has no workspace in its path');
  const scope = { tenantId: workspace, turnOf: sessionOfToken.personId };
  const session = await inTenantTransactionForPerson(parts.sessionPool, scope, (tx) => findSessionInTenant(tx, tokenSha256));
  const person = personOf(parts, session);
  const role = session?.role ?? undefined;
  if (role === undefined) throw new ApiError('not_found');
  if (!mayActAs(role, access)) throw forbidden(role, access);
  return { person, workspace, role, actor: { personId: person.id, role: access } };
}

function personOf(parts: PortalParts, session: LiveSession | undefined): SignedInPerson {
  if (session === undefined) throw new ApiError('not_signed_in');
  // Recording the use does not delay the request. A failure is ignored, because the next request records the use again.
  if (session.needsTouch && clockOf(parts.pool).fault() === undefined)
    touchSession(parts.pool, session.sessionId).catch(() => undefined);
  const { personId: id, email, name, hasPassword, sessionId, expiresAt } = session;
  return { id, email, name, hasPassword, session: { id: sessionId, expiresAt } };
}

const forbidden = (role: Role, required: Role): ApiError =>
  new ApiError('forbidden', [
    { path: '', code: 'refused', message: `this action requires the role ${required}; your role in this workspace is ${role}` },
  ]);
