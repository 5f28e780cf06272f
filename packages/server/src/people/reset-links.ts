import type { Pool } from 'pg';
import { inPersonTransaction, type Transaction } from '../database/transaction.ts';
import { allWorkspacesOf, findRole, membershipsOf } from '../storage/memberships.ts';
import { findAccount, lockAccounts } from '../storage/people.ts';
import { type ActingMember, personName } from '../workspace/actor.ts';
import { governanceAct } from '../workspace/governance-act.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { normalizeEmail } from './email-address.ts';
import { type IssuedLink, issueLink } from './one-time-links.ts';

/** The ledger entry about a link that sets a new password. */
const resetEntry = (personId: string) => ({ action: 'member.password_reset' as const, subject: personName(personId) });

/**
 * Creates a link by which a member sets a new password; undefined if there is no such member. A password gives access to all workspaces
 * of the person, so the admin must be admin of all of them. The link is never for the admin's own account, because a stolen session must
 * not be enough to take over the account.
 * @throws RuleViolationError for the admin's own account, or if the admin is not admin of all these workspaces.
 */
export const createResetLink = (
  pool: Pool,
  tenantId: string,
  personId: string,
  by: ActingMember,
): Promise<IssuedLink | undefined> =>
  governanceAct(pool, tenantId, by, async ({ tx, by: madeBy, record }) => {
    const adminId = by.personId;
    if ((await findRole(tx, personId)) === undefined) return undefined;
    if (personId === adminId)
      throw new RuleViolationError(
        'change your own password on the Account page; if you have lost it, ask another admin or the operator for a link',
      );
    // If the person joins a workspace concurrently, or the admin loses the role, that change waits for these locks, and then ends this
    // link.
    await lockAccounts(tx, [personId, adminId]);
    await requireAdminOfAll(tx, personId, adminId);
    const link = await issueLink(tx, { purpose: 'password_reset', workspaceId: tenantId, personId }, madeBy);
    record(resetEntry(personId));
    return link;
  });

async function requireAdminOfAll(tx: Transaction, personId: string, adminId: string): Promise<void> {
  const memberships = await allWorkspacesOf(tx, personId);
  const administeredIds = new Set(
    (await allWorkspacesOf(tx, adminId)).flatMap(({ workspaceId, role }) => (role === 'admin' ? [workspaceId] : [])),
  );
  if (!memberships.every(({ workspaceId }) => administeredIds.has(workspaceId)))
    throw new RuleViolationError(
      'this person also belongs to workspaces of which you are not an admin; ask the operator for a link: `countersign-server members reset-password`',
    );
}

/**
 * Creates a link that sets a new password for any account. Only the operator may call this. A removed person who has lost the password
 * could otherwise never accept an invitation again. The ledger of each workspace of the person records the link before the link exists. If
 * the person joins a workspace meanwhile, its ledger has no entry.
 * @throws RuleViolationError if there is no account with this address.
 */
export async function createResetLinkByOperator(pool: Pool, email: string): Promise<IssuedLink> {
  const account = await findAccount(pool, normalizeEmail(email));
  if (account === undefined)
    throw new RuleViolationError('there is no account with this email address; `members list` shows the members of a workspace');
  for (const { workspaceId } of await inPersonTransaction(pool, account.id, membershipsOf))
    await governanceAct(pool, workspaceId, 'operator', async ({ record }) => record(resetEntry(account.id)));
  return inPersonTransaction(pool, account.id, (tx) =>
    issueLink(tx, { purpose: 'password_reset', personId: account.id }, 'operator'),
  );
}
