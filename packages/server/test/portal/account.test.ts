import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { inPersonTransaction } from '../../src/database/transaction.ts';
import { hashPassword } from '../../src/people/password-hash.ts';
import { newSession } from '../../src/people/sessions.ts';
import { lockAccount, setPassword } from '../../src/storage/people.ts';
import { deleteSessionsOf, insertSession, SESSIONS } from '../../src/storage/sessions.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { resealRows } from '../harness/sealed.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let otherServer: TestServer;
let ada: Person;
let number = 0;

beforeAll(async () => {
  server = await testServer();
  otherServer = await testServer({ database: server.database });
});
beforeEach(async () => {
  number += 1;
  ada = await createPerson(server, {}, `ada-${number}@example.com`);
});

const NEW_PASSWORD = 'another good password';
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;
const signIn = async (email: string, password = PASSWORD, at = server) => {
  const browser = new Browser(at);
  return { browser, outcome: outcome(await browser.call('POST', '/session', { email, password })) };
};
const sessionOutcome = async (browser: Browser) => outcome(await browser.call('GET', '/session'));
const changePassword = (browser: Browser, current: string, to: string) =>
  browser.call('POST', '/account/password', { current_password: current, new_password: to });

describe("changing one's own password", () => {
  test("ends every session on every server except the caller's new one, and the old password stops working", async () => {
    const otherBrowser = (await signIn(ada.email, PASSWORD, otherServer)).browser;
    const before = ada.browser.cookie;
    expect(outcome(await changePassword(ada.browser, PASSWORD, NEW_PASSWORD))).toBe('200 ok');
    expect(ada.browser.cookie).not.toBe(before);
    expect(await sessionOutcome(ada.browser)).toBe('200 ok');
    expect(await sessionOutcome(otherBrowser)).toBe('401 not_signed_in');
    expect(await sessionOutcome(new Browser(server, before))).toBe('401 not_signed_in');
    expect((await signIn(ada.email)).outcome).toBe('401 sign_in_failed');
    expect((await signIn(ada.email, NEW_PASSWORD)).outcome).toBe('200 ok');
  });

  test('requires the current password and a new one that is long enough, and otherwise changes nothing', async () => {
    expect(outcome(await changePassword(ada.browser, 'not the password', NEW_PASSWORD))).toBe('401 sign_in_failed');
    const short = await changePassword(ada.browser, PASSWORD, 'elevenchars');
    expect([short.status, short.body.issues]).toMatchObject([
      422,
      [{ path: '/new_password', code: 'too_short', message: 'new_password must have at least 12 characters' }],
    ]);
    expect(await sessionOutcome(ada.browser)).toBe('200 ok');
    expect((await signIn(ada.email)).outcome).toBe('200 ok');
  });

  test('leaves no session that was started with the old password, even if sign-ins run concurrently', async () => {
    for (let round = 0; round < 3; round += 1) {
      const [from, to] = round % 2 === 0 ? [PASSWORD, NEW_PASSWORD] : [NEW_PASSWORD, PASSWORD];
      const signingIn = Array.from({ length: 6 }, (_, index) => signIn(ada.email, from, index % 2 === 0 ? server : otherServer));
      const changed = await changePassword(ada.browser, from, to);
      expect(outcome(changed)).toBe('200 ok');
      await Promise.all(signingIn);
      const sessions = await server.database.sql('SELECT 1 FROM countersign.sessions WHERE person_id = $1', [ada.id]);
      expect(sessions).toHaveLength(1);
      expect(await sessionOutcome(ada.browser)).toBe('200 ok');
    }
  });

  test('makes a concurrent sign-in with the old password wait and then rejects it', async () => {
    const hash = await hashPassword(NEW_PASSWORD);
    let signingIn: ReturnType<typeof signIn> | undefined;
    await inPersonTransaction(server.open.pool, ada.id, async (tx) => {
      await lockAccount(tx, ada.id);
      await setPassword(tx, ada.id, hash);
      await deleteSessionsOf(tx, ada.id);
      signingIn = signIn(ada.email);
      await Promise.race([signingIn, waitForBlockedStatements(server.database)]);
    });
    expect((await signingIn!).outcome).toBe('401 sign_in_failed');
    expect(await server.database.sql('SELECT 1 FROM countersign.sessions WHERE person_id = $1', [ada.id])).toEqual([]);
  });

  test('succeeds only once when two changes run concurrently', async () => {
    const otherBrowser = (await signIn(ada.email)).browser;
    const outcomes = await Promise.all([
      changePassword(ada.browser, PASSWORD, NEW_PASSWORD),
      changePassword(otherBrowser, PASSWORD, `${NEW_PASSWORD} 2`),
    ]);
    expect(outcomes.map(outcome).sort()).toEqual(['200 ok', '401 sign_in_failed']);
  });
});

describe("one's own sessions", () => {
  test('are listed with the current session marked, and each can be ended separately', async () => {
    const otherBrowser = new Browser(server);
    const credentials = { email: ada.email, password: PASSWORD };
    expect(outcome(await otherBrowser.call('POST', '/session', credentials, { 'user-agent': 'Netscape/4' }))).toBe('200 ok');
    const { items } = (await ada.browser.call('GET', '/account/sessions')).body;
    const moment = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`;
    const stored = await server.database.sql(
      `SELECT id, user_agent, ${['created_at', 'last_used_at', 'expires_at'].map(moment).join(', ')}
         FROM countersign.sessions WHERE person_id = $1 ORDER BY countersign.sessions.created_at DESC`,
      [ada.id],
    );
    expect(stored.map(({ user_agent }) => user_agent)).toEqual(['Netscape/4', null]);
    expect(items).toEqual(stored.map((row, index) => ({ ...row, current: index === 1 })));
    expect(JSON.stringify(items)).not.toContain(otherBrowser.cookie!.split('=')[1]);
    expect(outcome(await ada.browser.call('DELETE', `/account/sessions/${items[0].id}`))).toBe('200 ok');
    expect([await sessionOutcome(otherBrowser), await sessionOutcome(ada.browser)]).toEqual(['401 not_signed_in', '200 ok']);
  });

  test('are limited to the newest 200 in the list, so that frequent sign-ins do not make it too long', async () => {
    await inPersonTransaction(server.open.pool, ada.id, (tx) =>
      Promise.all(Array.from({ length: 250 }, () => insertSession(tx, newSession(ada.id, null).row))),
    );
    const { browser } = await signIn(ada.email);
    const { items } = (await browser.call('GET', '/account/sessions')).body;
    expect([items.length, items[0].current]).toEqual([200, true]);
  });

  test('are the only sessions that a person can end', async () => {
    const grace = await createPerson(server);
    const [session] = (await grace.browser.call('GET', '/account/sessions')).body.items;
    expect(outcome(await ada.browser.call('DELETE', `/account/sessions/${session.id}`))).toBe('404 not_found');
    expect(await sessionOutcome(grace.browser)).toBe('200 ok');
  });

  test('expire twelve hours after the sign-in', async () => {
    const { browser } = await signIn(ada.email);
    const { body } = await browser.call('GET', '/session');
    expect(Math.round((Date.parse(body.expires_at) - Date.now()) / 60_000)).toBe(12 * 60);
    await server.database.sql('UPDATE countersign.sessions SET expires_at = clock_timestamp() WHERE person_id = $1', [ada.id]);
    await resealRows(server, SESSIONS);
    expect(await sessionOutcome(browser)).toBe('401 not_signed_in');
  });
});

test("the account's name can be changed, and a name with a line break is rejected", async () => {
  expect((await ada.browser.call('PATCH', '/account', { name: 'Ada Lovelace' })).body.person.name).toBe('Ada Lovelace');
  const { status, body } = await ada.browser.call('PATCH', '/account', { name: 'a\nb' });
  expect([status, body.issues]).toMatchObject([422, [{ path: '/name', code: 'bad_characters' }]]);
  expect((await ada.browser.call('GET', '/session')).body.person.name).toBe('Ada Lovelace');
});
