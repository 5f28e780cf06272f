import type { Pool } from 'pg';
import type { Statements } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';
import { type Account, findAccount, insertPerson, lockAccount } from '../storage/people.ts';
import { normalizeEmail } from './email-address.ts';
import { endSetUp } from './one-time-links.ts';
import { hashNewPassword } from './password-hash.ts';
import { type Caller, type Credentials, signInFailed, verifyCredentials } from './sign-in.ts';

/** A person who wants to join: the owner of an account, who has given its password, or a newcomer. */
export type Claimant = { id: string; email: string } & (
  | { known: Account }
  | { newcomer: Pick<Account, 'id' | 'email' | 'name' | 'password'> }
);

/**
 * Identifies the person with an email address. An existing account requires its password, so that the creator of the link cannot take over
 * the account. If the address has no account, the person is a newcomer with the given name and password, for whom `claimAccount` creates an
 * account.
 * @throws ApiError `sign_in_failed`, `rate_limited`, `unavailable`, or `validation_failed` for a newcomer without a name.
 */
export async function identifyClaimant(
  pool: Pool,
  credentials: Credentials & { name: string | undefined },
  caller: Caller,
): Promise<Claimant> {
  const email = normalizeEmail(credentials.email);
  if ((await findAccount(pool, email)) !== undefined) {
    const known = await verifyCredentials(pool, credentials, caller);
    return { id: known.id, email, known };
  }
  if (credentials.name === undefined) throw validationFailed({ path: '/name', code: 'required', message: 'name is required' });
  const newcomer = { id: newId(), email, name: credentials.name, password: await hashNewPassword(credentials.password) };
  return { id: newcomer.id, email, newcomer };
}

/**
 * Locks the claimant's account, or creates it and ends the set-up links of the instance. Runs in the transaction in which the person joins.
 * @throws ApiError `sign_in_failed` if the password was changed, or the address was registered, since `identifyClaimant`.
 */
export async function claimAccount(tx: Statements, claimant: Claimant): Promise<void> {
  if ('known' in claimant) {
    const account = await lockAccount(tx, claimant.id);
    if (account?.passwordChangedAt !== claimant.known.passwordChangedAt) throw signInFailed();
    return;
  }
  // If nothing was inserted, a concurrent request has registered the address, so its password is required now.
  if (!(await insertPerson(tx, claimant.newcomer))) throw signInFailed();
  await endSetUp(tx);
}
