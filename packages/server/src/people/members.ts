import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import type { Transaction } from '../database/transaction.ts';
import { changeRoleOf, countAdmins, deleteMembership, findRole, workspacesOf } from '../storage/memberships.ts';
import { voidInvitations, voidLinksMadeBy, withdrawInvitation } from '../storage/one-time-links.ts';
import { accountOf, lockAccount } from '../storage/people.ts';
import { deleteSessionsOf } from '../storage/sessions.ts';
import { type Act, governanceAct } from '../workspace/governance-act.ts';
import type { ActingPerson } from '../workspace/ingestion-keys.ts';
import { Refusal } from '../workspace/refusal.ts';
import { comparedEmail } from './email-address.ts';
import { type IssuedLink, issueLink } from './one-time-links.ts';

/**
 * One act on the members of a workspace, behind the locked head of its ledger: acts wait for each other. Whoever acts must be admin still,
 * which they may have ceased to be since they were asked for their session.
 */
export const memberAct = <T>(pool: Pool, tenantId: string, by: ActingPerson, work: (act: Act) => Promise<T>): Promise<T> =>
  governanceAct(pool, tenantId, by, async (act) => {
    if (by !== 'operator' && (await findRole(act.tx, by.slice('user:'.length))) !== 'admin')
      throw new Refusal('you are no longer an admin of this workspace');
    return work(act);
  });

/** Invites somebody by a link. An invitation that waited for the same address is void. */
export async function inviteMember(
  pool: Pool,
  tenantId: string,
  invited: { email: string; role: Role },
  by: ActingPerson,
): Promise<IssuedLink> {
  const email = comparedEmail(invited.email);
  return memberAct(pool, tenantId, by, async ({ tx, record }) => {
    const account = await accountOf(tx, email);
    if (account !== undefined && (await findRole(tx, account.id)) !== undefined)
      throw new Refusal('somebody with this e-mail address is a member of the workspace already');
    await voidInvitations(tx, email);
    const link = await issueLink(tx, { purpose: 'invitation', workspaceId: tenantId, email, role: invited.role }, by);
    // The ledger keeps who was invited to what by the invitation's id: an address could never be taken out of it again.
    await record({ action: 'member.invited', subject: `invitation:${link.id}`, metadata: { role: invited.role } });
    return link;
  });
}

/** Withdraws an invitation; false when there is none of this id that waits. */
export const withdraw = (pool: Pool, tenantId: string, invitationId: string, by: ActingPerson): Promise<boolean> =>
  memberAct(pool, tenantId, by, async ({ tx, record }) => {
    const role = await withdrawInvitation(tx, invitationId);
    if (role === undefined) return false;
    await record({ action: 'member.invitation_withdrawn', subject: `invitation:${invitationId}`, metadata: { role } });
    return true;
  });

/** Gives a member another role; false when there is no such member. Nothing is recorded where it is the same. */
export const changeRole = (pool: Pool, tenantId: string, personId: string, to: Role, by: ActingPerson): Promise<boolean> =>
  memberAct(pool, tenantId, by, async ({ tx, record }) => {
    const from = await findRole(tx, personId);
    if (from === undefined || from === to) return from !== undefined;
    if (from === 'admin') await admitNoMoreAsAdmin(tx, personId);
    await changeRoleOf(tx, personId, to);
    await record({ action: 'member.role_changed', subject: `user:${personId}`, metadata: { from, to } });
    return true;
  });

/** Removes a member; false when there is no such member. Their next request is refused, and who belongs nowhere else is signed out. */
export const removeMember = (pool: Pool, tenantId: string, personId: string, by: ActingPerson): Promise<boolean> =>
  memberAct(pool, tenantId, by, (act) => endMembership(act, personId));

/** Leaves the workspace of one's own accord, in whatever role. */
export const leave = (pool: Pool, tenantId: string, personId: string): Promise<boolean> =>
  governanceAct(pool, tenantId, `user:${personId}`, (act) => endMembership(act, personId));

async function endMembership({ tx, record }: Act, personId: string): Promise<boolean> {
  const role = await findRole(tx, personId);
  if (role === undefined) return false;
  if (role === 'admin') await admitNoMoreAsAdmin(tx, personId);
  await deleteMembership(tx, personId);
  // Every request asks for the membership anew; who belongs nowhere any more has nothing to be signed in for.
  if ((await workspacesOf(tx, personId)).length === 0) await deleteSessionsOf(tx, personId);
  await record({ action: 'member.removed', subject: `user:${personId}`, metadata: { role } });
  return true;
}

/** Makes sure that somebody else is admin, and ends what this one has given out: an invitation must not bring them back. */
async function admitNoMoreAsAdmin(tx: Transaction, personId: string): Promise<void> {
  if ((await countAdmins(tx)) === 1)
    throw new Refusal('the last admin of a workspace can neither go nor lose the role; make somebody else admin first');
  await lockAccount(tx, personId); // who makes a reset link in another workspace meanwhile waits, or has made it before this
  await voidLinksMadeBy(tx, `user:${personId}`);
}
