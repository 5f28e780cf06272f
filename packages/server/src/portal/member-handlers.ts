import { inTenantTransaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { changeRole, inviteMember, leaveWorkspace, removeMember, withdrawPendingInvitation } from '../people/members.ts';
import type { IssuedLink } from '../people/one-time-links.ts';
import { createResetLink } from '../people/reset-links.ts';
import { listMembers } from '../storage/memberships.ts';
import { listInvitations } from '../storage/one-time-links.ts';
import { handlers } from './handler.ts';

/** Success, or 404 if the object did not exist. */
function doneOr404(found: boolean): { ok: true } {
  if (!found) throw new ApiError('not_found');
  return { ok: true };
}

const linkResponse = ({ path, expiresAt }: IssuedLink) => ({ path, expires_at: expiresAt });

/** Members, their roles, and invitations. */
export const memberHandlers = handlers({
  'members.list': async ({ workspace, parts }) => {
    const members = await inTenantTransaction(parts.readPool, workspace, listMembers);
    return {
      items: members.map(({ personId, joinedAt, ...member }) => ({ person_id: personId, ...member, joined_at: joinedAt })),
    };
  },

  'members.change_role': async ({ workspace, params, body, actor, parts }) =>
    doneOr404(await changeRole(parts.pool, workspace, params.person, body.role, actor)),

  'members.remove': async ({ workspace, params, actor, parts }) =>
    doneOr404(await removeMember(parts.pool, workspace, params.person, actor)),

  'members.leave': async ({ person, workspace, parts }) => doneOr404(await leaveWorkspace(parts.pool, workspace, person.id)),

  'members.reset_password': async ({ workspace, params, actor, parts }) => {
    const link = await createResetLink(parts.pool, workspace, params.person, actor);
    if (link === undefined) throw new ApiError('not_found');
    return linkResponse(link);
  },

  'invitations.list': async ({ workspace, parts }) => {
    const invitations = await inTenantTransaction(parts.readPool, workspace, listInvitations);
    return {
      items: invitations.map(({ id, email, role, madeBy, createdAt, expiresAt }) => ({
        id,
        email,
        role,
        invited_by: madeBy,
        created_at: createdAt,
        expires_at: expiresAt,
      })),
    };
  },

  'invitations.create': async ({ workspace, body, actor, parts }) =>
    linkResponse(await inviteMember(parts.pool, workspace, body, actor)),

  'invitations.withdraw': async ({ workspace, params, actor, parts }) =>
    doneOr404(await withdrawPendingInvitation(parts.pool, workspace, params.invitation, actor)),
});
