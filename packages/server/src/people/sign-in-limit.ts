import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { ApiError } from '../errors/api-error.ts';
import { countAttempt, takeBackAttempt } from '../storage/sign-in-attempts.ts';
import { networkOf } from './client-network.ts';

/** The window in seconds, and the attempts that are allowed in a window for an account and for the network of a client. */
const WINDOW_SECONDS = 15 * 60;
const PER_ACCOUNT_MAX = 10;
const PER_NETWORK_MAX = 50;

/**
 * Counts an attempt before its password is checked: first for the client's network, then for the account, even if the account does not
 * exist. Because of this order, a client that is over its limit cannot lock the accounts of others. The counts are in the database, so that
 * all servers share them. After a successful attempt, or if the password was not checked, the caller calls `takeBack`.
 * @param email the normalized address of the account. @param address the network address of the client.
 * @throws ApiError `rate_limited` above one of the limits.
 */
export async function countSignInAttempt(pool: Pool, email: string, address: string): Promise<{ takeBack(): Promise<unknown> }> {
  const [network, account] = [subjectOf('address', networkOf(address)), subjectOf('account', email)];
  await countAgainst(pool, network, PER_NETWORK_MAX);
  await countAgainst(pool, account, PER_ACCOUNT_MAX);
  return { takeBack: () => takeBackAttempt(pool, [account, network]) };
}

async function countAgainst(pool: Pool, subject: Buffer, limit: number): Promise<void> {
  const { attempts, secondsLeft } = await countAttempt(pool, subject, { limit, windowSeconds: WINDOW_SECONDS });
  if (attempts > limit) throw new ApiError('rate_limited', [], { 'Retry-After': String(secondsLeft) });
}

/** Hashed, because people sometimes type a password into the field for the email address. */
const subjectOf = (kind: 'account' | 'address', text: string): Buffer => hash('sha256', `${kind} ${text}`, 'buffer');
