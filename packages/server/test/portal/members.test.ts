import type { Role } from '@countersign/core/portal/route';
import { beforeEach, describe, expect, test } from 'vitest';
import { operatorsResetLink } from '../../src/people/reset-links.ts';
import { Browser, PASSWORD, person, type Someone } from '../bed/portal-browser.ts';
import { type Answer, type TestServer, testServer } from '../bed/test-server.ts';

const server: TestServer = await testServer();
let workspace: string;
let admin: Someone;

beforeEach(async () => {
  workspace = await server.workspace();
  admin = await person(server, { [workspace]: 'admin' });
});

const outcome = ({ status, body }: Answer) => `${status} ${body.error ?? 'ok'}`;
const member = (id: string) => `/workspaces/${workspace}/members/${id}`;
const setRole = async (by: Someone, of: Someone, role: Role) => outcome(await by.browser.call('PATCH', member(of.id), { role }));
const remove = async (by: Someone, of: Someone) => outcome(await by.browser.call('DELETE', member(of.id)));
const look = async (who: Someone) => outcome(await who.browser.call('GET', `/workspaces/${workspace}/members`));
const admins = async () =>
  (
    await server.database.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM countersign.memberships WHERE tenant_id = $1 AND role = 'admin'`,
      [workspace],
    )
  )[0]!.n;
const recorded = () =>
  server.database.sql(
    `SELECT actor, action, document::json ->> 'subject' AS subject, document::json -> 'metadata' AS metadata
       FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq`,
    [workspace],
  );

describe('roles and memberships', () => {
  test('a changed role holds with the next request, and is in the ledger', async () => {
    const grace = await person(server, { [workspace]: 'viewer' });
    const invitations = () => grace.browser.call('GET', `/workspaces/${workspace}/invitations`);
    expect(outcome(await invitations())).toBe('403 forbidden');
    expect(await setRole(admin, grace, 'admin')).toBe('200 ok');
    expect(outcome(await invitations())).toBe('200 ok');
    expect(await setRole(admin, grace, 'admin')).toBe('200 ok');
    const by = `user:${admin.id}`;
    const metadata = { from: 'viewer', to: 'admin' };
    expect(await recorded()).toEqual([{ actor: by, action: 'member.role_changed', subject: `user:${grace.id}`, metadata }]);
  });

  test('a removed member is a stranger with the next request; who leaves as well; both are in the ledger', async () => {
    const elsewhere = await server.workspace();
    const removed = await person(server, { [workspace]: 'approver', [elsewhere]: 'viewer' });
    const leaving = await person(server, { [workspace]: 'viewer' });
    expect([await look(removed), await look(leaving)]).toEqual(['200 ok', '200 ok']);
    expect(await remove(admin, removed)).toBe('200 ok');
    expect(outcome(await leaving.browser.call('DELETE', `/workspaces/${workspace}/membership`))).toBe('200 ok');
    expect(await look(removed)).toBe('404 not_found');
    expect(outcome(await removed.browser.call('GET', '/session'))).toBe('200 ok');
    // Who belongs nowhere any more is signed out.
    expect(outcome(await leaving.browser.call('GET', '/session'))).toBe('401 not_signed_in');
    expect(await remove(admin, removed)).toBe('404 not_found');
    expect(await recorded()).toMatchObject([
      { actor: `user:${admin.id}`, action: 'member.removed', subject: `user:${removed.id}` },
      { actor: `user:${leaving.id}`, action: 'member.removed', subject: `user:${leaving.id}` },
    ]);
  });

  test('an invitation of an admin who is one no more is void: it does not bring them back', async () => {
    const second = await person(server, { [workspace]: 'admin' });
    const { body } = await second.browser.call('POST', `/workspaces/${workspace}/invitations`, {
      email: 'back@example.com',
      role: 'admin',
    });
    expect(await setRole(admin, second, 'viewer')).toBe('200 ok');
    const token = body.path.split('#')[1];
    expect(outcome(await new Browser(server).call('POST', '/links/show', { token }))).toBe('410 link_not_valid');
  });
});

describe('the last admin', () => {
  test('can neither leave, nor be removed, nor be demoted', async () => {
    expect(await setRole(admin, admin, 'viewer')).toBe('409 refused');
    expect(await remove(admin, admin)).toBe('409 refused');
    expect(outcome(await admin.browser.call('DELETE', `/workspaces/${workspace}/membership`))).toBe('409 refused');
    expect(await admins()).toBe(1);
    expect(await recorded()).toEqual([]);
  });

  test.each([
    ['demote each other', (by: Someone, other: Someone) => setRole(by, other, 'viewer')],
    ['remove each other', (by: Someone, other: Someone) => remove(by, other)],
    ['demote themselves', (by: Someone) => setRole(by, by, 'viewer')],
    ['leave', async (by: Someone) => outcome(await by.browser.call('DELETE', `/workspaces/${workspace}/membership`))],
  ])('stays when all admins %s at once', async (_what, act) => {
    const all = [admin, await person(server, { [workspace]: 'admin' }), await person(server, { [workspace]: 'admin' })];
    const outcomes = await Promise.all(all.map((by, index) => act(by, all[(index + 1) % all.length]!)));
    expect(await admins()).toBeGreaterThan(0);
    expect(outcomes.filter((answer) => answer === '200 ok').length).toBe(3 - (await admins()));
    expect(await recorded()).toHaveLength(3 - (await admins()));
  });
});

describe('a password reset by an admin', () => {
  const ask = (of: Someone) => admin.browser.call('POST', `${member(of.id)}/password-reset`);
  const use = (path: string, password: string, browser = new Browser(server)) =>
    browser.call('POST', '/links/reset-password', { token: path.split('#')[1], password });

  test('is a link that works once: the old password is dead, and so is every session', async () => {
    const grace = await person(server, { [workspace]: 'viewer' });
    const { body } = await ask(grace);
    expect(Math.round((Date.parse(body.expires_at) - Date.now()) / 60_000)).toBe(60);
    const browser = new Browser(server);
    expect((await use(body.path, 'another good password', browser)).body.person.id).toBe(grace.id);
    expect(outcome(await browser.call('GET', '/session'))).toBe('200 ok');
    expect(await look(grace)).toBe('401 not_signed_in');
    expect(outcome(await use(body.path, 'a third good password'))).toBe('410 link_not_valid');
    const signIn = (password: string) => new Browser(server).call('POST', '/session', { email: grace.email, password });
    expect(outcome(await signIn(PASSWORD))).toBe('401 sign_in_failed');
    expect(outcome(await signIn('another good password'))).toBe('200 ok');
    expect(await recorded()).toMatchObject([
      { actor: `user:${admin.id}`, action: 'member.password_reset', subject: `user:${grace.id}` },
    ]);
  });

  test('is refused for somebody who belongs to a workspace of others: it would open that one too', async () => {
    const elsewhere = await server.workspace();
    const grace = await person(server, { [workspace]: 'viewer', [elsewhere]: 'viewer' });
    expect(outcome(await ask(grace))).toBe('409 refused');
    await server.database.sql(`INSERT INTO countersign.memberships (tenant_id, person_id, role) VALUES ($1, $2, 'approver')`, [
      elsewhere,
      admin.id,
    ]);
    expect(outcome(await ask(grace))).toBe('409 refused');
    await server.database.sql(`UPDATE countersign.memberships SET role = 'admin' WHERE tenant_id = $1 AND person_id = $2`, [
      elsewhere,
      admin.id,
    ]);
    expect(outcome(await ask(grace))).toBe('200 ok');
  });

  test('by the operator is for anybody who has an account, and is in the ledger of each workspace that it opens', async () => {
    const grace = await person(server, { [workspace]: 'viewer' });
    const stranger = await person(server);
    for (const { email, id } of [grace, stranger]) {
      const { path } = await operatorsResetLink(server.open.pool, email.toUpperCase());
      expect((await use(path, 'another good password')).body.person.id).toBe(id);
    }
    expect(await recorded()).toMatchObject([{ actor: 'operator', action: 'member.password_reset', subject: `user:${grace.id}` }]);
  });

  test('is void once the person has joined another workspace, or the admin is one no more', async () => {
    const [grace, second] = [await person(server, { [workspace]: 'viewer' }), await person(server, { [workspace]: 'admin' })];
    const first = (await ask(grace)).body.path;
    const elsewhere = await server.workspace();
    const other = await person(server, { [elsewhere]: 'admin' });
    const invited = await other.browser.call('POST', `/workspaces/${elsewhere}/invitations`, {
      email: grace.email,
      role: 'viewer',
    });
    const token = invited.body.path.split('#')[1];
    expect(outcome(await new Browser(server).call('POST', '/links/accept-invitation', { token, password: PASSWORD }))).toBe(
      '200 ok',
    );
    expect(outcome(await use(first, 'another good password'))).toBe('410 link_not_valid');

    const made = await admin.browser.call('POST', `${member(second.id)}/password-reset`);
    expect(await setRole(second, admin, 'viewer')).toBe('200 ok');
    expect(outcome(await use(made.body.path, 'another good password'))).toBe('410 link_not_valid');
  });
});
