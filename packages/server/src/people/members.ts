import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { changeRoleOf, countAdmins, deleteMembership, findRole, workspacesOf } from '../storage/memberships.ts';
import { voidInvitations, voidLinksMadeBy, voidLinksOfMember, withdrawInvitation } from '../storage/one-time-links.ts';
import { accountOf, lockAccount } from '../storage/people.ts';
import { deleteSessionsOf } from '../storage/sessions.ts';
import { type Actor, personName } from '../workspace/actor.ts';
import { type Act, actIn, governanceAct } from '../workspace/governance-act.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { normalizeEmail } from './email-address.ts';
import { type IssuedLink, issueLink } from './one-time-links.ts';

/**
 * Invites a person by a link. An earlier invitation of the same address to this workspace becomes invalid.
 * @throws RuleViolationError for a member.
 */
export async function inviteMember(
  pool: Pool,
  tenantId: string,
  invitation: { email: string; role: Role },
  by: Actor,
): Promise<IssuedLink> {
  const email = normalizeEmail(invitation.email);
  return governanceAct(pool, tenantId, by, async ({ tx, by: madeBy, record }) => {
    const account = await accountOf(tx, email);
    if (account !== undefined && (await findRole(tx, account.id)) !== undefined)
      throw new RuleViolationError('a person with this email address is a member of the workspace already');
    await voidInvitations(tx, email);
    const link = await issueLink(tx, { purpose: 'invitation', workspaceId: tenantId, email, role: invitation.role }, madeBy);
    // The ledger names the invitation by its ID, because an address could never be removed from the ledger.
    record({ action: 'member.invited', subject: `invitation:${link.id}`, metadata: { role: invitation.role } });
    return link;
  });
}

/** Withdraws an invitation; false if no pending invitation with a valid seal has this ID. */
export const withdrawPendingInvitation = (pool: Pool, tenantId: string, invitationId: string, by: Actor): Promise<boolean> =>
  governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const role = await withdrawInvitation(tx, invitationId);
    if (role === undefined) return false;
    record({ action: 'member.invitation_withdrawn', subject: `invitation:${invitationId}`, metadata: { role } });
    return true;
  });

/**
 * Changes a member's role; false if there is no such member. Nothing is recorded if the role is unchanged.
 * @throws RuleViolationError if the last admin would lose the role.
 */
export const changeRole = (pool: Pool, tenantId: string, personId: string, to: Role, by: Actor): Promise<boolean> =>
  governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const from = await findRole(tx, personId);
    if (from === undefined || from === to) return from !== undefined;
    if (from === 'admin') await endAdminRights(tx, personId);
    await changeRoleOf(tx, personId, to);
    record({ action: 'member.role_changed', subject: personName(personId), metadata: { from, to } });
    return true;
  });

/**
 * Removes a member; false if there is no such member. The person's next request to this workspace is rejected. A person who belongs to no
 * other workspace is signed out.
 * @throws RuleViolationError for the last admin.
 */
export const removeMember = (pool: Pool, tenantId: string, personId: string, by: Actor): Promise<boolean> =>
  governanceAct(pool, tenantId, by, (act) => endMembership(act, personId));

/** Removes a member at their own request, which needs no role; false if there is no such member. The last admin cannot leave. */
export const leaveWorkspace = (pool: Pool, tenantId: string, personId: string): Promise<boolean> =>
  inTenantTransaction(pool, tenantId, (tx) => actIn(tx, personName(personId), (act) => endMembership(act, personId)));

async function endMembership({ tx, record }: Act, personId: string): Promise<boolean> {
  const role = await findRole(tx, personId);
  if (role === undefined) return false;
  // If the person is removed from the last two workspaces at once, the later removal sees the earlier one.
  await lockAccount(tx, personId);
  if (role === 'admin') await endAdminRights(tx, personId);
  await Promise.all([deleteMembership(tx, personId), voidLinksOfMember(tx, personId)]);
  // Requests to this workspace check the membership, so sessions can continue. A person without any workspace is signed out.
  if ((await workspacesOf(tx, personId)).length === 0) await deleteSessionsOf(tx, personId);
  record({ action: 'member.removed', subject: personName(personId), metadata: { role } });
  return true;
}

/** Requires another admin, and ends this admin's links, so that the person cannot return by an invitation that they created. */
async function endAdminRights(tx: Transaction, personId: string): Promise<void> {
  if ((await countAdmins(tx)) === 1)
    throw new RuleViolationError('the last admin of a workspace must stay admin; make another member admin first');
  // If this person concurrently creates a reset link in another workspace, the link waits for this lock, or is ended below.
  await lockAccount(tx, personId);
  await voidLinksMadeBy(tx, personName(personId));
}
