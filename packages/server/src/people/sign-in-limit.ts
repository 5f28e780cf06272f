import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Pool } from 'pg';
import { ApiError } from '../api-error.ts';
import { countAttempts, takeBackAttempt } from '../storage/sign-in-attempts.ts';

/** The window in which tries are counted, in seconds, and how many may be in it. */
const WINDOW_SECONDS = 15 * 60;
const PER_ACCOUNT_MAX = 10;
const PER_ADDRESS_MAX = 50;

/**
 * Counts a try before its password is looked at, against the account (whether or not there is one) and against where it comes from. In
 * the database, so that all servers count together. A try that turns out good is taken back: somebody who signs in often is no attack.
 * @throws ApiError `rate_limited`, and then no password is looked at.
 */
export async function countTry(pool: Pool, email: string, address: string): Promise<{ takeBack(): Promise<unknown> }> {
  const [account, place] = [subjectOf('account', email), subjectOf('address', networkOf(address))];
  const counted = await countAttempts(pool, [account, place], WINDOW_SECONDS);
  const over = counted.filter(
    ({ subject, attempts }) => attempts > (subject.equals(account) ? PER_ACCOUNT_MAX : PER_ADDRESS_MAX),
  );
  if (over.length > 0) {
    const seconds = Math.max(...over.map(({ secondsLeft }) => secondsLeft));
    throw new ApiError('rate_limited', [], { 'Retry-After': String(seconds) });
  }
  return { takeBack: () => takeBackAttempt(pool, [account, place]) };
}

/** Hashed: what was typed where an address is asked for may be a password, and is not kept to be read. */
const subjectOf = (kind: 'account' | 'address', text: string): Buffer => hash('sha256', `${kind} ${text}`, 'buffer');

/** An IPv6 client has a whole /64 to choose addresses from: it counts as one. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address.replace(/^::ffff:/i, '');
  const [left = '', right] = address.split('%')[0]!.split('::');
  const groups = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(left), groups(right)];
  const zeros = right === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, 4);
  return network.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}
