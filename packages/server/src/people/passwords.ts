import type { Pool } from 'pg';
import { inPersonTransaction, type Statements } from '../database/transaction.ts';
import { voidLinksOf } from '../storage/one-time-links.ts';
import { lockAccount, setPassword } from '../storage/people.ts';
import { deleteSessionsOf, insertSession } from '../storage/sessions.ts';
import { hashPassword } from './password-hash.ts';
import { newSession } from './sessions.ts';
import { type Claim, provenAccount, WrongPassword } from './sign-in.ts';

/**
 * Changes the password of whoever shows the one they have. Every session ends; returns the token of the one that begins.
 * @throws WrongPassword, TooManyTries
 */
export async function changePassword(pool: Pool, claim: Claim, to: string, userAgent: string | null): Promise<string> {
  const { id, passwordChangedAt } = await provenAccount(pool, claim);
  const hash = await hashPassword(to);
  return inPersonTransaction(pool, id, async (tx) => {
    const account = await lockAccount(tx, id);
    if (account?.passwordChangedAt !== passwordChangedAt) throw new WrongPassword('the password has just changed');
    return replacePassword(tx, id, hash, userAgent);
  });
}

/** Gives a locked account another password: sessions and links of the person end, and one session begins. Returns its token. */
export async function replacePassword(tx: Statements, personId: string, hash: string, userAgent: string | null): Promise<string> {
  const { token, row } = newSession(personId, userAgent);
  await Promise.all([
    setPassword(tx, personId, hash),
    deleteSessionsOf(tx, personId),
    voidLinksOf(tx, personId),
    insertSession(tx, row),
  ]);
  return token;
}
