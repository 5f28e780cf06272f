import type { Role } from '@countersign/core/portal/route';
import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import type { Transaction } from '../database/transaction.ts';
import { newId } from '../storage/new-id.ts';
import { type Account, accountOf, insertPerson, lockAccount } from '../storage/people.ts';
import { governanceAct } from '../workspace/governance-act.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { InvalidInputError, requireLabel } from '../workspace/wrong-input.ts';
import { normalizeEmail } from './email-address.ts';
import { makeMember } from './join.ts';
import { type IssuedLink, issueLink } from './one-time-links.ts';
import { isPersonName, PERSON_NAME_RULE } from './person-name.ts';

/** Locks the account of an email address, so that the person cannot set a password at the same time. */
async function lockAccountOf(tx: Transaction, email: string): Promise<Account | undefined> {
  const account = await accountOf(tx, email);
  return account && lockAccount(tx, account.id);
}

/**
 * Makes a person a member without asking them, and returns a link that signs them in. A new account has no password; a link of
 * `createResetLinkByOperator` can set a password later. Only for the operator.
 * @throws RuleViolationError if the person is a member already or has a password. The account may belong to someone who does not own the
 *    address. So a person with a password must be invited: an invitation requires both the link and the password.
 * @throws InvalidInputError if the name is not a valid name of a person.
 */
export async function addMember(
  pool: Pool,
  tenantId: string,
  { email: typedEmail, name, role }: { email: string; name: string; role: Role },
  by: 'operator',
): Promise<IssuedLink> {
  requireLabel('the name', name);
  if (!isPersonName(name)) throw new InvalidInputError(`the name must be ${PERSON_NAME_RULE}`);
  const email = normalizeEmail(typedEmail);
  return governanceAct(pool, tenantId, by, async (act) => {
    const newcomer = { id: newId(), email, name, password: null };
    const isNew = await insertPerson(act.tx, newcomer);
    const account = isNew ? undefined : await lockAccountOf(act.tx, email);
    if (!isNew && account === undefined) throw new BrokenSealError('people');
    if (account?.hasPassword === true)
      throw new RuleViolationError(
        'the account with this email address has a password; use `members invite` to invite the person',
      );
    const personId = account?.id ?? newcomer.id;
    await makeMember(act, { id: personId, email }, role, { by });
    return issueLink(act.tx, { purpose: 'sign_in', workspaceId: tenantId, personId }, by);
  });
}
