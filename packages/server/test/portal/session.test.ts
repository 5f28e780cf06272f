import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createWorkspaceSetUpLink } from '../../src/people/one-time-links.ts';
import { deleteExpiredLinks } from '../../src/storage/one-time-links.ts';
import { deleteExpiredSessions, SESSIONS } from '../../src/storage/sessions.ts';
import { deletePastAttempts } from '../../src/storage/sign-in-attempts.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { resealRows } from '../harness/sealed.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let ada: Person;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace('acme');
  ada = await createPerson(server, { [workspace]: 'viewer' }, 'ada@example.com');
});

const signIn = (browser: Browser, email: string, password: string) => browser.call('POST', '/session', { email, password });

describe('sign-in and sign-out', () => {
  test('signing in with an email address in any letter case sets an HttpOnly cookie and returns the memberships', async () => {
    const browser = new Browser(server);
    const response = await signIn(browser, ' Ada@Example.COM ', PASSWORD);
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(
      /^countersign=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const expected = {
      person: { id: ada.id, email: 'ada@example.com', name: 'ada', has_password: true },
      memberships: [{ workspace: { id: workspace, name: 'acme' }, role: 'viewer' }],
    };
    expect(response.body).toMatchObject({ ...expected, workspace_id: null });
    expect((await browser.call('GET', '/session')).body).toMatchObject(expected);
    const members = await browser.call('GET', `/workspaces/${workspace}/members`);
    expect(members.body.items).toMatchObject([{ person_id: ada.id, email: 'ada@example.com', role: 'viewer' }]);
  });

  test('signing out ends the session on the server too', async () => {
    const browser = new Browser(server);
    await signIn(browser, 'ada@example.com', PASSWORD);
    const { cookie } = browser;
    expect((await browser.call('DELETE', '/session')).status).toBe(200);
    expect(browser.cookie).toBeUndefined();
    expect((await new Browser(server, cookie).call('GET', '/session')).body).toEqual({ error: 'not_signed_in', issues: [] });
  });

  test('the tables of people and sessions contain neither the session token nor the password', async () => {
    const browser = new Browser(server);
    await signIn(browser, 'ada@example.com', PASSWORD);
    const [stored] = await server.database.sql<{ all: string }>(
      `SELECT (SELECT string_agg(t::text, ' ') FROM countersign.people AS t) || (SELECT string_agg(t::text, ' ') FROM countersign.sessions AS t) AS all`,
    );
    expect(stored!.all).toContain('$argon2id$v=19$m=19456,t=2,p=1$');
    expect(stored!.all).not.toContain(browser.cookie!.split('=')[1]);
    expect(stored!.all).not.toContain(PASSWORD);
  });
});

test('cleanup deletes exactly what has expired', async () => {
  const { pool } = server.open;
  await createWorkspaceSetUpLink(pool, workspace);
  const [active, expired] = [await createPerson(server), await createPerson(server)];
  await new Browser(server).call('POST', '/session', { email: 'nobody@example.com', password: 'not the password' });
  const counts = async () =>
    (
      await server.database.sql(
        `SELECT (SELECT count(*)::int FROM countersign.sessions WHERE person_id = ANY ($1)) AS sessions,
                (SELECT count(*)::int FROM countersign.one_time_links) AS links,
                (SELECT count(*)::int FROM countersign.sign_in_attempts) AS tries`,
        [[active.id, expired.id]],
      )
    )[0];
  const cleanUp = () => Promise.all([deleteExpiredSessions(pool), deleteExpiredLinks(pool), deletePastAttempts(pool)]);
  const before = await counts();
  await cleanUp();
  expect(await counts()).toEqual(before);
  await server.database.sql(`UPDATE countersign.sessions SET expires_at = clock_timestamp() WHERE person_id = $1`, [expired.id]);
  await server.database.sql(`UPDATE countersign.one_time_links SET expires_at = clock_timestamp()`);
  await server.database.sql(`UPDATE countersign.sign_in_attempts SET window_began_at = window_began_at - interval '2 days'`);
  await cleanUp();
  expect(await counts()).toEqual({ sessions: 1, links: 0, tries: 0 });
});

test('a time of last use in the future is corrected, and a session that was created in the future is not valid', async () => {
  const { pool } = server.open;
  const grace = await createPerson(server);
  const change = async (assignments: string) => {
    await server.database.sql(`UPDATE countersign.sessions SET ${assignments} WHERE person_id = $1`, [grace.id]);
    await resealRows(server, SESSIONS, 't.person_id = $1', [grace.id]);
  };
  await change(`last_used_at = last_used_at + interval '1 year'`);
  const sessions = await grace.browser.call('GET', '/account/sessions');
  expect(sessions.status).toBe(200);
  const lastUse = async () => (await grace.browser.call('GET', '/account/sessions')).body.items[0].last_used_at;
  await vi.waitFor(async () => expect(Date.parse(await lastUse())).toBeLessThan(Date.now() + 60_000));
  await change(`created_at = created_at + interval '1 year', expires_at = expires_at + interval '1 year'`);
  expect((await grace.browser.call('GET', '/account/sessions')).body.error).toBe('not_signed_in');
  await deleteExpiredSessions(pool);
  expect(await server.database.sql('SELECT id FROM countersign.sessions WHERE person_id = $1', [grace.id])).toEqual([]);
});

describe('a request without a session', () => {
  test('to a workspace takes no turn on a database connection, so that nonexistent workspaces cannot block real ones', async () => {
    const { turns } = server.open.sessionPool;
    const releases = await Promise.all(['a', 'b', 'c'].map((owner) => turns.take(owner)));
    const invented = new Browser(server, `countersign=${'A'.repeat(43)}`);
    const { body } = await invented.call('GET', `/workspaces/${crypto.randomUUID()}/members`);
    for (const release of releases) release();
    expect(body.error).toBe('not_signed_in');
  });
});

test('requests of one person to nonexistent workspaces share the limit of one person, and cannot block other people', async () => {
  const { turns } = server.open.sessionPool;
  const { browser } = await createPerson(server);
  const releases = await Promise.all(['a', 'b', 'c'].map((owner) => turns.take(owner)));
  const statuses: number[] = [];
  const request = async () => {
    statuses.push((await browser.call('GET', `/workspaces/${crypto.randomUUID()}/members`)).status);
  };
  const requests = Array.from({ length: 150 }, request);
  await expect.poll(() => statuses.length).toBe(22);
  expect([turns.waiting, new Set(statuses)]).toEqual([128, new Set([503])]);
  for (const release of releases) release();
  await Promise.all(requests);
  expect(statuses.slice(22)).toEqual(Array(128).fill(404));
});
