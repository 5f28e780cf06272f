import type { Pool } from 'pg';
import { type Account, findAccount, replaceHash } from '../storage/people.ts';
import { insertSessionByPassword } from '../storage/sessions.ts';
import { comparedEmail } from './email-address.ts';
import { hashPassword, isOutdated, isPassword } from './password-hash.ts';
import { newSession } from './sessions.ts';
import { countTry } from './sign-in-limit.ts';

/** E-mail address and password as somebody typed them, and where from. */
export interface Claim {
  email: string;
  password: string;
  address: string;
}

/** The address and the password do not belong together. It is not said whether there is such an account. */
export class WrongPassword extends Error {
  override name = 'WrongPassword';
}

/**
 * The account that a claim is good for. The same work is done, and the same is answered, for an account that does not exist.
 * @throws WrongPassword, TooManyTries
 */
export async function provenAccount(pool: Pool, { email, password, address }: Claim): Promise<Account> {
  const compared = comparedEmail(email);
  const counted = await countTry(pool, compared, address);
  const account = await findAccount(pool, compared);
  const good = await isPassword(password, account?.password ?? null);
  if (account === undefined || account.password === null || !good) throw new WrongPassword('wrong e-mail address or password');
  await counted.takeBack();
  if (isOutdated(account.password)) await replaceHash(pool, account.id, account.password, await hashPassword(password));
  return account;
}

/** Begins a session by e-mail address and password. Returns its token. */
export async function signIn(pool: Pool, claim: Claim, userAgent: string | null): Promise<string> {
  const account = await provenAccount(pool, claim);
  const { token, row } = newSession(account.id, userAgent);
  // Changed while it was being checked: the old password is good for nothing any more.
  const isBegun = await insertSessionByPassword(pool, row, account.passwordChangedAt);
  if (!isBegun) throw new WrongPassword('the password has just changed');
  return token;
}
