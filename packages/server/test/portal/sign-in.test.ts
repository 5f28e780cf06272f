import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Argon2Cost, argon2id, hashWithJavaScript } from '../../src/people/argon2id.ts';

/** The costs of the computed hashes, in order. */
const hashCosts = vi.hoisted((): Argon2Cost[] => []);
vi.mock('../../src/people/argon2id.ts', async (original) => {
  const { argon2id, ...rest } = await original<typeof import('../../src/people/argon2id.ts')>();
  return {
    ...rest,
    argon2id: (message: Buffer, salt: Buffer, tagBytes: number, cost: Argon2Cost) => {
      hashCosts.push(cost);
      return argon2id(message, salt, tagBytes, cost);
    },
  };
});

import { inTenantTransaction } from '../../src/database/transaction.ts';
import { hashNewPassword, hashPassword, isCorrectPassword, isOutdated } from '../../src/people/password-hash.ts';
import { newId } from '../../src/storage/new-id.ts';
import { insertPerson, PEOPLE } from '../../src/storage/people.ts';
import { Browser, createPerson, PASSWORD } from '../harness/portal-browser.ts';
import { resealRows } from '../harness/sealed.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let otherServer: TestServer;

beforeAll(async () => {
  server = await testServer({ behindProxy: true });
  otherServer = await testServer({ database: server.database, behindProxy: true });
  await createPerson(server, {}, 'ada@example.com');
  await inTenantTransaction(server.open.pool, newId(), (tx) =>
    insertPerson(tx, { id: newId(), email: 'guest@example.com', name: 'Guest', password: null }),
  );
});
beforeEach(async () => {
  await server.database.sql('DELETE FROM countersign.sign_in_attempts');
  hashCosts.length = 0;
});

/** Tries to sign in from an address that the proxy forwards. */
const attempt = (email: string, password: string, { at = server, from = '203.0.113.7' } = {}) =>
  new Browser(at).call(
    'POST',
    '/session',
    { email, password },
    {
      origin: at.url.replace('http:', 'https:'),
      'x-forwarded-for': `198.51.100.1, ${from}`,
    },
  );
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;
const WRONG_PASSWORD = 'not the password';

describe('the existence of an account', () => {
  test('is not revealed: no account, no password and a wrong password get the same response at the same cost', async () => {
    const responses = [];
    for (const email of ['ada@example.com', 'nobody@example.com', 'guest@example.com']) {
      hashCosts.length = 0;
      const { status, headers, body } = await attempt(email, WRONG_PASSWORD);
      const comparableHeaders = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
      responses.push({ status, body, comparableHeaders, hashCosts: [...hashCosts] });
    }
    expect(responses[0]).toMatchObject({ status: 401, body: { error: 'sign_in_failed', issues: [] } });
    expect(responses[0]!.hashCosts).toEqual([{ memoryKiB: 19_456, passes: 2, lanes: 1 }]);
    expect(responses[1]).toEqual(responses[0]);
    expect(responses[2]).toEqual(responses[0]);
  });

  test('is not revealed by the limit: an unknown account is locked after the same number of attempts', async () => {
    for (const [email, from] of [
      ['ada@example.com', '203.0.113.8'],
      ['nobody@example.com', '203.0.113.9'],
    ] as const) {
      const outcomes = [];
      for (let number = 0; number < 12; number += 1) outcomes.push(outcome(await attempt(email, WRONG_PASSWORD, { from })));
      expect(outcomes).toEqual([...Array(10).fill('401 sign_in_failed'), ...Array(2).fill('429 rate_limited')]);
    }
  });
});

describe('the limit of sign-in attempts', () => {
  test('is shared by servers and concurrent attempts, and no password is checked beyond it', async () => {
    const tries = Array.from({ length: 24 }, (_, number) =>
      attempt('ada@example.com', WRONG_PASSWORD, { at: number % 2 === 0 ? server : otherServer, from: `203.0.113.${number}` }),
    );
    const outcomes = (await Promise.all(tries)).map(outcome);
    expect(outcomes.filter((each) => each === '401 sign_in_failed')).toHaveLength(10);
    expect(outcomes.filter((each) => each === '429 rate_limited')).toHaveLength(14);
    expect(hashCosts).toHaveLength(10);
    const rightAttempt = await attempt('ada@example.com', PASSWORD, { at: otherServer });
    expect(outcome(rightAttempt)).toBe('429 rate_limited');
    const seconds = Number(rightAttempt.headers.get('retry-after'));
    expect(seconds > 800 && seconds <= 900).toBe(true);
  });

  test('ends after 15 minutes', async () => {
    for (let number = 0; number < 11; number += 1) await attempt('ada@example.com', WRONG_PASSWORD);
    expect(outcome(await attempt('ada@example.com', PASSWORD))).toBe('429 rate_limited');
    await server.database.sql(
      `UPDATE countersign.sign_in_attempts SET window_began_at = window_began_at - interval '15 minutes'`,
    );
    expect(outcome(await attempt('ada@example.com', PASSWORD))).toBe('200 ok');
  });

  test('ends at once if its window began while a clock was ahead', async () => {
    for (let number = 0; number < 11; number += 1) await attempt('ada@example.com', WRONG_PASSWORD);
    await server.database.sql(`UPDATE countersign.sign_in_attempts SET window_began_at = window_began_at + interval '1 year'`);
    expect(outcome(await attempt('ada@example.com', PASSWORD))).toBe('200 ok');
  });

  test('counts no attempts beyond the limit, so that many correct sign-ins at once do not lock the account', async () => {
    await Promise.all(Array.from({ length: 25 }, () => attempt('ada@example.com', PASSWORD)));
    expect(outcome(await attempt('ada@example.com', PASSWORD))).toBe('200 ok');
  });

  test('applies to an address across accounts after fifty attempts, and an IPv6 /64 network counts as one address', async () => {
    const spray = (number: number) =>
      attempt(`person-${number}@example.com`, WRONG_PASSWORD, { from: `2001:db8:1:2:${number.toString(16)}::1` });
    const outcomes = (await Promise.all(Array.from({ length: 55 }, (_, number) => spray(number)))).map(outcome);
    expect(outcomes.filter((each) => each === '401 sign_in_failed')).toHaveLength(50);
    expect(outcome(await attempt('ada@example.com', PASSWORD, { from: '2001:db8:1:2::ffff' }))).toBe('429 rate_limited');
    expect(outcome(await attempt('ada@example.com', PASSWORD, { from: '2001:db8:1:3::ffff' }))).toBe('200 ok');
  });

  test('does not count successful sign-ins', async () => {
    for (let number = 0; number < 12; number += 1) expect(outcome(await attempt('ada@example.com', PASSWORD))).toBe('200 ok');
  });

  test('does not count attempts whose password was not checked because too many checks were running', async () => {
    const hash = await hashPassword(PASSWORD);
    const others = Array.from({ length: 400 }, () => isCorrectPassword(PASSWORD, hash).catch(() => undefined));
    const refill = setInterval(() => {
      for (let count = 0; count < 20; count += 1) others.push(isCorrectPassword(PASSWORD, hash).catch(() => undefined));
    }, 5);
    const outcomes: string[] = [];
    for (let number = 0; number < 12; number += 1) outcomes.push(outcome(await attempt('ada@example.com', PASSWORD)));
    clearInterval(refill);
    await Promise.all(others);
    expect(outcomes).toContain('503 unavailable');
    expect(outcomes).not.toContain('429 rate_limited');
    expect(outcome(await attempt('ada@example.com', PASSWORD))).toBe('200 ok');
  });
});

describe('a password', () => {
  test('is stored as an argon2id hash in PHC string format with a separate salt', async () => {
    const [one, two] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(two);
    expect([await isCorrectPassword(PASSWORD, one), await isCorrectPassword(`${PASSWORD} `, one), isOutdated(one)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  // From src/test.c of the reference implementation, P-H-C/phc-winner-argon2.
  test('hashed by the reference implementation is verified', async () => {
    const referenceHash = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    expect([await isCorrectPassword('password', referenceHash), await isCorrectPassword('Password', referenceHash)]).toEqual([
      true,
      false,
    ]);
    expect(isOutdated(referenceHash)).toBe(true);
  });

  test('has the same hash from Node, from the implementation in JavaScript and from the reference implementation', async () => {
    const [salt, cost] = [Buffer.from('somesalt'), { memoryKiB: 256, passes: 2, lanes: 1 }];
    const hash = await hashWithJavaScript(Buffer.from('password'), salt, 32, cost);
    expect(hash.toString('hex')).toBe('9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe');
    expect(await argon2id(Buffer.from('password'), salt, 32, cost)).toEqual(hash);
    const lanes = { memoryKiB: 512, passes: 3, lanes: 4 };
    const long = Buffer.from('long '.repeat(200));
    expect(await hashWithJavaScript(long, salt, 16, lanes)).toEqual(await argon2id(long, salt, 16, lanes));
  });

  test('waits in a queue to be checked: 66 concurrent checks succeed, and further ones fail with `unavailable`', async () => {
    const hash = await hashPassword(PASSWORD);
    const outcomes = await Promise.all(
      Array.from({ length: 90 }, () => isCorrectPassword(PASSWORD, hash).catch((error: { code: string }) => error.code)),
    );
    expect(outcomes).toEqual([...Array(66).fill(true), ...Array(24).fill('unavailable')]);
    expect(await isCorrectPassword(PASSWORD, hash)).toBe(true);
  });

  test('is checked while many new passwords are set: 16 of them are accepted, and further ones fail with `unavailable`', async () => {
    const hash = await hashPassword(PASSWORD);
    const failed: string[] = [];
    const requests = Array.from({ length: 70 }, () => hashNewPassword(PASSWORD).catch(({ code }) => failed.push(code)));
    expect(await isCorrectPassword(PASSWORD, hash)).toBe(true);
    await Promise.all(requests);
    expect(failed).toEqual(Array(54).fill('unavailable'));
  });

  test('is the same in any Unicode normalization', async () => {
    expect(await isCorrectPassword('passwo\u0308rter mit umlaut', await hashPassword('passw\u00f6rter mit umlaut'))).toBe(true);
  });

  test('with an outdated cost is rehashed on a successful sign-in, even by two servers at the same time, and still works', async () => {
    const old = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    const grace = await createPerson(server, {}, 'grace@example.com');
    await server.database.sql('UPDATE countersign.people SET password = $2 WHERE id = $1', [grace.id, old]);
    await resealRows(server, PEOPLE, 't.id = $1', [grace.id]);
    const storedHash = async () =>
      (await server.database.sql<{ password: string }>('SELECT password FROM countersign.people WHERE id = $1', [grace.id]))[0]!
        .password;
    await attempt('grace@example.com', WRONG_PASSWORD);
    expect(await storedHash()).toBe(old);
    const attempts = await Promise.all([
      attempt('grace@example.com', 'password'),
      attempt('grace@example.com', 'password', { at: otherServer }),
    ]);
    expect(attempts.map(outcome)).toEqual(['200 ok', '200 ok']);
    expect(isOutdated(await storedHash())).toBe(false);
    expect(outcome(await attempt('grace@example.com', 'password'))).toBe('200 ok');
  });
});
