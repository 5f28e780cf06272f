import type { Pool } from 'pg';
import { inPersonTransaction, type Statements } from '../database/transaction.ts';
import { voidLinksOf } from '../storage/one-time-links.ts';
import { lockAccount, setPassword } from '../storage/people.ts';
import { deleteSessionsOf, insertSession } from '../storage/sessions.ts';
import { endSetUp } from './one-time-links.ts';
import { hashNewPassword } from './password-hash.ts';
import { newSession } from './sessions.ts';
import { type Caller, type Credentials, signInFailed, verifyCredentials } from './sign-in.ts';

/**
 * Changes the password of a person who proves the current one. All sessions end, and a new one starts. Returns its token.
 * @throws ApiError `sign_in_failed`, `rate_limited`, `unavailable`
 */
export async function changePassword(pool: Pool, credentials: Credentials, newPassword: string, caller: Caller): Promise<string> {
  const { id, passwordChangedAt } = await verifyCredentials(pool, credentials, caller);
  const hash = await hashNewPassword(newPassword);
  return inPersonTransaction(pool, id, async (tx) => {
    const account = await lockAccount(tx, id);
    if (account?.passwordChangedAt !== passwordChangedAt) throw signInFailed();
    return replacePassword(tx, id, hash, caller);
  });
}

/**
 * Sets the password of an account whose row this transaction has locked. The person's sessions and links end, and one session starts.
 * Returns its token.
 */
export async function replacePassword(tx: Statements, personId: string, hash: string, caller: Caller): Promise<string> {
  const { token, row } = newSession(personId, caller.userAgent);
  await endSetUp(tx);
  const statements = [
    setPassword(tx, personId, hash),
    deleteSessionsOf(tx, personId),
    voidLinksOf(tx, personId),
    insertSession(tx, row),
  ];
  await Promise.all(statements);
  return token;
}
