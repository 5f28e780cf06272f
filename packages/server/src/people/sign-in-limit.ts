import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Pool } from 'pg';
import { ApiError } from '../errors/api-error.ts';
import { countAttempt, takeBackAttempt } from '../storage/sign-in-attempts.ts';

/** The window in which tries are counted, in seconds, and how many may be in it. */
const WINDOW_SECONDS = 15 * 60;
const PER_ACCOUNT_MAX = 10;
const PER_ADDRESS_MAX = 50;

/**
 * Counts a try before its password is looked at: against where it comes from, and then against the account, whether or not there is one.
 * In that order, or whoever is refused already would go on shutting the accounts of others. In the database, so that all servers count
 * together. A try that turns out good is taken back: somebody who signs in often is no attack.
 * @throws ApiError `rate_limited`, and then no password is looked at.
 */
export async function countTry(pool: Pool, email: string, address: string): Promise<{ takeBack(): Promise<unknown> }> {
  const [place, account] = [subjectOf('address', networkOf(address)), subjectOf('account', email)];
  await countAgainst(pool, place, PER_ADDRESS_MAX);
  await countAgainst(pool, account, PER_ACCOUNT_MAX);
  return { takeBack: () => takeBackAttempt(pool, [account, place]) };
}

async function countAgainst(pool: Pool, subject: Buffer, most: number): Promise<void> {
  const { attempts, secondsLeft } = await countAttempt(pool, subject, WINDOW_SECONDS);
  if (attempts > most) throw new ApiError('rate_limited', [], { 'Retry-After': String(secondsLeft) });
}

/** Hashed: what was typed where an address is asked for may be a password, and is not kept to be read. */
const subjectOf = (kind: 'account' | 'address', text: string): Buffer => hash('sha256', `${kind} ${text}`, 'buffer');

/** An IPv6 client has a whole /64 to choose addresses from: it counts as one. So do all ports of a client, which some proxies add. */
export function networkOf(client: string): string {
  const address = /^\[(.+)\](:\d+)?$/.exec(client)?.[1] ?? /^([\d.]+):\d+$/.exec(client)?.[1] ?? client;
  if (!isIPv6(address) || address.includes('.')) return address.replace(/^::ffff:/i, '');
  const [left = '', right] = address.split('%')[0]!.split('::');
  const groups = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(left), groups(right)];
  const zeros = right === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, 4);
  return network.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}
