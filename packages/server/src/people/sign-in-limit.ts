import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Pool } from 'pg';
import { ApiError } from '../errors/api-error.ts';
import { countAttempt, takeBackAttempt } from '../storage/sign-in-attempts.ts';

/** The window in seconds, and the allowed attempts in it by account and by network of the client. */
const WINDOW_SECONDS = 15 * 60;
const PER_ACCOUNT_MAX = 10;
const PER_NETWORK_MAX = 50;

/**
 * Counts an attempt before its password is checked: first for the client's network, then for the account, even if it does not exist.
 * Because of this order, a client that is over its limit cannot lock the accounts of others. The counts are in the database, so that all
 * servers share them. After a successful attempt the caller calls `takeBack`, so that frequent sign-ins are possible.
 * @param email the normalized address of the account. @param address the network address of the client.
 * @throws ApiError `rate_limited` above one of the limits.
 */
export async function countSignInAttempt(pool: Pool, email: string, address: string): Promise<{ takeBack(): Promise<unknown> }> {
  const [network, account] = [subjectOf('address', networkOf(address)), subjectOf('account', email)];
  await countAgainst(pool, network, PER_NETWORK_MAX);
  await countAgainst(pool, account, PER_ACCOUNT_MAX);
  return { takeBack: () => takeBackAttempt(pool, [account, network]) };
}

async function countAgainst(pool: Pool, subject: Buffer, most: number): Promise<void> {
  const { attempts, secondsLeft } = await countAttempt(pool, subject, WINDOW_SECONDS);
  if (attempts > most) throw new ApiError('rate_limited', [], { 'Retry-After': String(secondsLeft) });
}

/** Hashed, because people sometimes type a password into the field for the email address. */
const subjectOf = (kind: 'account' | 'address', text: string): Buffer => hash('sha256', `${kind} ${text}`, 'buffer');

/** The network of a client. An IPv6 client can use a whole /64, so a /64 counts as one. Ports, which some proxies add, are ignored. */
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
