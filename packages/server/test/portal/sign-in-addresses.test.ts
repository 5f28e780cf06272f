import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { networkOf } from '../../src/people/client-network.ts';
import { Browser, createPerson, PASSWORD } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let proxied: TestServer;
let direct: TestServer;

beforeAll(async () => {
  proxied = await testServer({ behindProxy: true });
  direct = await testServer({ database: proxied.database });
  await createPerson(proxied, {}, 'ada@example.com');
});
beforeEach(() => proxied.database.sql('DELETE FROM countersign.sign_in_attempts'));

const WRONG_PASSWORD = 'not the password';
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;

/** Tries to sign in through the proxy from an address. */
const attempt = async (email: string, password: string, from = '203.0.113.7') => {
  const headers = { origin: proxied.url.replace('http:', 'https:'), 'x-forwarded-for': from };
  return outcome(await new Browser(proxied).call('POST', '/session', { email, password }, headers));
};
/** Makes 55 concurrent attempts. Returns the number of attempts whose password was checked. */
async function countChecked(makeAttempt: (number: number) => Promise<string>): Promise<number> {
  const outcomes = await Promise.all(Array.from({ length: 55 }, (_, number) => makeAttempt(number)));
  return outcomes.filter((each) => each === '401 sign_in_failed').length;
}

describe('the limit of sign-in attempts per address', () => {
  test('locks no account and stores nothing about accounts after it is reached', async () => {
    const countRows = () => proxied.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM countersign.sign_in_attempts');
    expect(await countChecked((number) => attempt(`person-${number}@example.com`, WRONG_PASSWORD))).toBe(50);
    const before = await countRows();
    for (let number = 0; number < 12; number += 1) {
      expect(await attempt('ada@example.com', WRONG_PASSWORD)).toBe('429 rate_limited');
      expect(await attempt(`more-${number}@example.com`, WRONG_PASSWORD)).toBe('429 rate_limited');
    }
    expect(await countRows()).toEqual(before);
    expect(await attempt('ada@example.com', PASSWORD, '203.0.113.8')).toBe('200 ok');
  });

  test('cannot be bypassed by forwarding headers if the server is not behind a proxy', async () => {
    const attemptFrom = async (number: number) => {
      const headers = { 'x-forwarded-for': `203.0.113.${number}`, forwarded: `for=203.0.113.${number}` };
      const form = { email: `person-${number}@example.com`, password: WRONG_PASSWORD };
      return outcome(await new Browser(direct).call('POST', '/session', form, headers));
    };
    expect(await countChecked(attemptFrom)).toBe(50);
  });

  test('cannot be bypassed behind a proxy by other forwarded addresses or ports', async () => {
    const from = (number: number) => `203.0.113.${number}, 198.51.100.77:${4000 + number}`;
    expect(await countChecked((number) => attempt(`person-${number}@example.com`, WRONG_PASSWORD, from(number)))).toBe(50);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:0DB8:0000:0001:aaaa:bbbb:cccc:dddd', '2001:db8:0:1'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['192.0.2.1:40001', '192.0.2.1'],
    ['[2001:db8::1]:40001', '2001:db8:0:0'],
    ['[2001:db8::1]', '2001:db8:0:0'],
    ['unknown', 'unknown'],
  ])('networkOf(%s) is %s', (address, network) => expect(networkOf(address)).toBe(network));
});
