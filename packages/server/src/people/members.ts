import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { changeRoleOf, countAdmins, deleteMembership, findRole, workspacesOf } from '../storage/memberships.ts';
import { voidInvitations, voidLinksMadeBy, withdrawInvitation } from '../storage/one-time-links.ts';
import { accountOf, lockAccount } from '../storage/people.ts';
import { deleteSessionsOf } from '../storage/sessions.ts';
import { type Actor, personName } from '../workspace/actor.ts';
import { type Act, actIn, governanceAct } from '../workspace/governance-act.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { comparedEmail } from './email-address.ts';
import { type IssuedLink, issueLink } from './one-time-links.ts';

/** Invites somebody by a link. An invitation that waited for the same address is void. */
export async function inviteMember(
  pool: Pool,
  tenantId: string,
  invited: { email: string; role: Role },
  by: Actor,
): Promise<IssuedLink> {
  const email = comparedEmail(invited.email);
  return governanceAct(pool, tenantId, by, async ({ tx, by: madeBy, record }) => {
    const account = await accountOf(tx, email);
    if (account !== undefined && (await findRole(tx, account.id)) !== undefined)
      throw new RuleViolationError('somebody with this e-mail address is a member of the workspace already');
    await voidInvitations(tx, email);
    const link = await issueLink(tx, { purpose: 'invitation', workspaceId: tenantId, email, role: invited.role }, madeBy);
    // The ledger keeps who was invited to what by the invitation's id: an address could never be taken out of it again.
    await record({ action: 'member.invited', subject: `invitation:${link.id}`, metadata: { role: invited.role } });
    return link;
  });
}

/** Withdraws an invitation; false when there is none of this id that waits. */
export const withdraw = (pool: Pool, tenantId: string, invitationId: string, by: Actor): Promise<boolean> =>
  governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const role = await withdrawInvitation(tx, invitationId);
    if (role === undefined) return false;
    await record({ action: 'member.invitation_withdrawn', subject: `invitation:${invitationId}`, metadata: { role } });
    return true;
  });

/** Gives a member another role; false when there is no such member. Nothing is recorded where it is the same. */
export const changeRole = (pool: Pool, tenantId: string, personId: string, to: Role, by: Actor): Promise<boolean> =>
  governanceAct(pool, tenantId, by, async ({ tx, record }) => {
    const from = await findRole(tx, personId);
    if (from === undefined || from === to) return from !== undefined;
    if (from === 'admin') await admitNoMoreAsAdmin(tx, personId);
    await changeRoleOf(tx, personId, to);
    await record({ action: 'member.role_changed', subject: personName(personId), metadata: { from, to } });
    return true;
  });

/** Removes a member; false when there is no such member. Their next request is refused, and who belongs nowhere else is signed out. */
export const removeMember = (pool: Pool, tenantId: string, personId: string, by: Actor): Promise<boolean> =>
  governanceAct(pool, tenantId, by, (act) => endMembership(act, personId));

/** Leaves the workspace of one's own accord, in whatever role. */
export const leave = (pool: Pool, tenantId: string, personId: string): Promise<boolean> =>
  inTenantTransaction(pool, tenantId, (tx) => actIn(tx, personName(personId), (act) => endMembership(act, personId)));

async function endMembership({ tx, record }: Act, personId: string): Promise<boolean> {
  const role = await findRole(tx, personId);
  if (role === undefined) return false;
  if (role === 'admin') await admitNoMoreAsAdmin(tx, personId);
  await deleteMembership(tx, personId);
  // Every request asks for the membership anew; who belongs nowhere any more has nothing to be signed in for.
  if ((await workspacesOf(tx, personId)).length === 0) await deleteSessionsOf(tx, personId);
  await record({ action: 'member.removed', subject: personName(personId), metadata: { role } });
  return true;
}

/** Makes sure that somebody else is admin, and ends what this one has given out: an invitation must not bring them back. */
async function admitNoMoreAsAdmin(tx: Transaction, personId: string): Promise<void> {
  if ((await countAdmins(tx)) === 1)
    throw new RuleViolationError(
      'the last admin of a workspace can neither go nor lose the role; make somebody else admin first',
    );
  await lockAccount(tx, personId); // who makes a reset link in another workspace meanwhile waits, or has made it before this
  await voidLinksMadeBy(tx, personName(personId));
}
