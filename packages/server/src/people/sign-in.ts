import type { Pool } from 'pg';
import { ApiError } from '../errors/api-error.ts';
import { type Account, findAccount, replaceHash } from '../storage/people.ts';
import { insertSessionByPassword } from '../storage/sessions.ts';
import { normalizeEmail } from './email-address.ts';
import { hashPassword, isCorrectPassword, isOutdated } from './password-hash.ts';
import { newSession } from './sessions.ts';
import { countSignInAttempt } from './sign-in-limit.ts';

/** The origin of a request. */
export interface Caller {
  /** The address of the client; behind a proxy, the last one in X-Forwarded-For. */
  address: string;
  userAgent: string | null;
}

/** Email address and password as typed. */
export interface Credentials {
  email: string;
  password: string;
}

/** The same error for every failure, so that it does not reveal whether the account exists. */
export const signInFailed = (): ApiError => new ApiError('sign_in_failed');

/**
 * Verifies email address and password, and returns the account. An unknown account takes the same time and throws the same error as a wrong
 * password.
 * @throws ApiError `sign_in_failed`, `rate_limited`, `unavailable`
 */
export async function verifyCredentials(pool: Pool, { email, password }: Credentials, { address }: Caller): Promise<Account> {
  const normalizedEmail = normalizeEmail(email);
  const attempt = await countSignInAttempt(pool, normalizedEmail, address);
  const [account, isCorrect] = await checkPassword(pool, normalizedEmail, password).catch(async (error: unknown) => {
    await attempt.takeBack().catch(() => undefined); // The attempt does not count, because the password was not checked.
    throw error;
  });
  if (account === undefined || account.password === null || !isCorrect) throw signInFailed();
  await attempt.takeBack();
  if (isOutdated(account.password)) await replaceHash(pool, account.id, account.password, await hashPassword(password));
  return account;
}

async function checkPassword(pool: Pool, email: string, password: string): Promise<[Account | undefined, boolean]> {
  const account = await findAccount(pool, email);
  return [account, await isCorrectPassword(password, account?.password ?? null)];
}

/** Starts a session by email address and password. Returns its token. Throws like `verifyCredentials`. */
export async function signIn(pool: Pool, credentials: Credentials, caller: Caller): Promise<string> {
  const account = await verifyCredentials(pool, credentials, caller);
  const { token, row } = newSession(account.id, caller.userAgent);
  // False if the password was changed during its check.
  const isStarted = await insertSessionByPassword(pool, row, account.passwordChangedAt);
  if (!isStarted) throw signInFailed();
  return token;
}
