import type { Role } from '@countersign/core/portal/route';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { addMember } from '../../src/people/add-member.ts';
import { inviteMember } from '../../src/people/members.ts';
import { createSetUpLink, createWorkspaceSetUpLink, issueLink } from '../../src/people/one-time-links.ts';
import { deleteExpiredLinks, ONE_TIME_LINKS } from '../../src/storage/one-time-links.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { resealRows } from '../harness/sealed.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let admin: Person;

const tokenOf = ({ path }: { path: string }) => path.split('#')[1]!;
const useLink = (browser: Browser, purpose: string, body: object) => browser.call('POST', `/links/${purpose}`, body);
const invite = async (email: string, role = 'viewer') => {
  const { status, body } = await admin.browser.call('POST', `/workspaces/${workspace}/invitations`, { email, role });
  expect(status).toBe(200);
  return body as { path: string; expires_at: string };
};
const accept = (link: { path: string }, form: object, browser = new Browser(server)) =>
  useLink(browser, 'accept-invitation', { token: tokenOf(link), ...form });
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;
const GONE = '410 link_not_valid';

beforeAll(async () => {
  server = await testServer();
});

describe('the first start', () => {
  test('two set-up links used concurrently create one workspace and one admin, and then no set-up link can be created', async () => {
    const links = [await createSetUpLink(server.open.pool), await createSetUpLink(server.open.pool)];
    const responses = await Promise.all(
      links.map((link, number) =>
        useLink(new Browser(server), 'set-up', {
          token: tokenOf(link!),
          workspace_name: `first-${number}`,
          email: `first-${number}@example.com`,
          name: 'First',
          password: PASSWORD,
        }),
      ),
    );
    expect(responses.map(outcome).sort()).toEqual(['200 ok', GONE]);
    const { body } = responses.find(({ status }) => status === 200)!;
    expect(body.memberships).toMatchObject([{ workspace: { id: body.workspace_id }, role: 'admin' }]);
    expect(await server.database.sql('SELECT count(*)::int AS n FROM countersign.tenants')).toEqual([{ n: 1 }]);
    expect(await server.database.sql('SELECT count(*)::int AS n FROM countersign.people')).toEqual([{ n: 1 }]);
    const by = `user:${body.person.id}`;
    expect(
      await server.database.sql(
        `SELECT actor, action, document::json ->> 'subject' AS subject FROM countersign.audit_entries WHERE tenant_id = $1`,
        [body.workspace_id],
      ),
    ).toEqual([{ actor: by, action: 'member.joined', subject: by }]);
    expect(await createSetUpLink(server.open.pool)).toBeUndefined();
  });

  test('a workspace created by the operator gets its first admin by its set-up link, with a new or an existing account', async () => {
    workspace = await server.workspace('acme');
    const link = await createWorkspaceSetUpLink(server.open.pool, workspace);
    const shown = await useLink(new Browser(server), 'show', { token: tokenOf(link) });
    expect(shown.body).toMatchObject({
      purpose: 'set_up',
      workspace: { id: workspace, name: 'acme' },
      email: null,
      account: 'none',
    });
    const browser = new Browser(server);
    const form = { token: tokenOf(link), email: 'Admin@example.com', password: PASSWORD };
    const nameless = await useLink(browser, 'set-up', form);
    expect([outcome(nameless), nameless.body.issues[0].path]).toEqual(['422 validation_failed', '/name']);
    const joined = await useLink(browser, 'set-up', { ...form, name: 'Admin' });
    expect([outcome(joined), joined.body.workspace_id]).toEqual(['200 ok', workspace]);
    admin = { id: joined.body.person.id, email: 'admin@example.com', browser };

    const otherLink = await createWorkspaceSetUpLink(server.open.pool, await server.workspace('other'));
    const formWithWrongPassword = {
      token: tokenOf(otherLink),
      email: 'admin@example.com',
      name: 'Somebody',
      password: 'not the password',
    };
    expect(outcome(await useLink(new Browser(server), 'set-up', formWithWrongPassword))).toBe('401 sign_in_failed');
    const rightResponse = await useLink(new Browser(server), 'set-up', { ...formWithWrongPassword, password: PASSWORD });
    expect(rightResponse.body.person).toMatchObject({ id: admin.id, name: 'Admin' });
    expect(rightResponse.body.memberships.map(({ workspace }: { workspace: { name: string } }) => workspace.name)).toEqual([
      'acme',
      'other',
    ]);
  });

  test('the set-up link of a workspace is invalid after the operator has added an admin to the workspace', async () => {
    const tenantId = await server.workspace('third');
    const link = await createWorkspaceSetUpLink(server.open.pool, tenantId);
    const shown = async () => outcome(await useLink(new Browser(server), 'show', { token: tokenOf(link) }));
    const add = (name: string, role: Role) =>
      addMember(server.open.pool, tenantId, { email: `third-${name}@example.com`, name, role }, 'operator');
    await add('viewer', 'viewer');
    expect(await shown()).toBe('200 ok');
    await add('admin', 'admin');
    expect(await shown()).toBe(GONE);
  });
});

describe('an invitation', () => {
  test('makes a new person a member once, with the role of the invitation; the link shows the invited email address', async () => {
    const link = await invite('Grace@example.com', 'approver');
    expect(link.path).toMatch(/^\/link#[\w-]{43}$/);
    const hours = (Date.parse(link.expires_at) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(72);
    const shown = await useLink(new Browser(server), 'show', { token: tokenOf(link) });
    expect(shown.body).toMatchObject({
      purpose: 'invitation',
      email: 'grace@example.com',
      role: 'approver',
      account: 'none',
      workspace: { name: 'acme' },
    });
    const joined = await accept(link, { name: 'Grace', password: PASSWORD });
    expect(joined.body).toMatchObject({
      memberships: [{ workspace: { id: workspace }, role: 'approver' }],
      workspace_id: workspace,
    });
    expect(outcome(await accept(link, { name: 'Grace', password: PASSWORD }))).toBe(GONE);
    expect(outcome(await useLink(new Browser(server), 'show', { token: tokenOf(link) }))).toBe(GONE);
  });

  test('for an existing account is accepted only with the password of the account', async () => {
    const knownPerson = await createPerson(server, {}, 'known@example.com');
    const link = await invite('known@example.com');
    expect((await useLink(new Browser(server), 'show', { token: tokenOf(link) })).body.account).toBe('with_password');
    expect(outcome(await accept(link, { name: 'Thief', password: 'a new password of mine' }))).toBe('401 sign_in_failed');
    expect((await accept(link, { password: PASSWORD })).body.person).toMatchObject({ id: knownPerson.id, name: 'known' });
  });

  test('is accepted only once when it is used concurrently', async () => {
    const link = await invite('racer@example.com');
    const responses = await Promise.all([1, 2, 3, 4].map(() => accept(link, { name: 'Racer', password: PASSWORD })));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status !== 200 && status !== 410 && status !== 401)).toEqual([]);
    const members = await admin.browser.call('GET', `/workspaces/${workspace}/members`);
    expect(members.body.items.filter(({ email }: { email: string }) => email === 'racer@example.com')).toHaveLength(1);
  });

  test('is invalid after it is withdrawn, replaced by a newer one, or expired', async () => {
    const first = await invite('late@example.com');
    const second = await invite('late@example.com');
    const newcomer = { name: 'Late', password: PASSWORD };
    expect(outcome(await accept(first, newcomer))).toBe(GONE);
    const pendingInvitations = await admin.browser.call('GET', `/workspaces/${workspace}/invitations`);
    expect(pendingInvitations.body.items).toMatchObject([
      { email: 'late@example.com', role: 'viewer', invited_by: `user:${admin.id}` },
    ]);
    const path = `/workspaces/${workspace}/invitations/${pendingInvitations.body.items[0].id}`;
    expect(outcome(await admin.browser.call('DELETE', path))).toBe('200 ok');
    expect(outcome(await admin.browser.call('DELETE', path))).toBe('404 not_found');
    expect(outcome(await accept(second, newcomer))).toBe(GONE);
    const third = await invite('late@example.com');
    await server.database.sql(
      `UPDATE countersign.one_time_links SET expires_at = clock_timestamp() WHERE email = 'late@example.com'`,
    );
    await resealRows(server, ONE_TIME_LINKS);
    expect(outcome(await accept(third, newcomer))).toBe(GONE);
    expect((await admin.browser.call('GET', `/workspaces/${workspace}/invitations`)).body.items).toEqual([]);
  });

  test('is invalid if it was created while a clock was ahead, and is deleted', async () => {
    const link = await invite('early@example.com');
    await server.database.sql(
      `UPDATE countersign.one_time_links SET created_at = created_at + interval '1 year', expires_at = expires_at + interval '1 year'
        WHERE email = 'early@example.com'`,
    );
    await resealRows(server, ONE_TIME_LINKS);
    expect(outcome(await useLink(new Browser(server), 'show', { token: tokenOf(link) }))).toBe(GONE);
    expect(outcome(await accept(link, { name: 'Early', password: PASSWORD }))).toBe(GONE);
    expect((await admin.browser.call('GET', `/workspaces/${workspace}/invitations`)).body.items).toEqual([]);
    await deleteExpiredLinks(server.open.pool);
    expect(await server.database.sql(`SELECT id FROM countersign.one_time_links WHERE email = 'early@example.com'`)).toEqual([]);
  });

  test('is invalid after the person has joined by another link, so that it cannot bring back a removed member', async () => {
    const email = 'twice@example.com';
    const link = await invite(email, 'admin');
    const setUp = await createWorkspaceSetUpLink(server.open.pool, workspace);
    const form = { token: tokenOf(setUp), email, name: 'Twice', password: PASSWORD };
    const { body } = await useLink(new Browser(server), 'set-up', form);
    expect((await admin.browser.call('GET', `/workspaces/${workspace}/invitations`)).body.items).toEqual([]);
    const removed = await admin.browser.call('DELETE', `/workspaces/${workspace}/members/${body.person.id}`);
    expect(outcome(removed)).toBe('200 ok');
    expect(outcome(await accept(link, { password: PASSWORD }))).toBe(GONE);
  });

  test('to a member is refused; an invalid address or role, or an unknown field, is rejected at that field', async () => {
    const path = `/workspaces/${workspace}/invitations`;
    const repeated = await admin.browser.call('POST', path, { email: 'grace@example.com', role: 'viewer' });
    expect(outcome(repeated)).toBe('409 refused');
    for (const [body, at] of [
      [{ email: 'nobody', role: 'viewer' }, '/email bad_format'],
      [{ email: 'a@b.c', role: 'owner' }, '/role not_one_of'],
      [{ role: 'viewer' }, '/email required'],
      [{ email: 'a@b.c', role: 'viewer', is_admin: true }, '/is_admin unknown_member'],
    ] as const) {
      const { status, body: response } = await admin.browser.call('POST', path, body);
      expect([status, response.issues.map((issue: { path: string; code: string }) => `${issue.path} ${issue.code}`)]).toEqual([
        422,
        [at],
      ]);
    }
  });

  test('is recorded in the ledger without the email address; so are its withdrawal and the joining', async () => {
    const entries = await server.database.sql<{ action: string; document: string }>(
      'SELECT action, document FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq',
      [workspace],
    );
    const actions = entries.map(({ action }) => action);
    expect(actions.slice(0, 3)).toEqual(['member.joined', 'member.invited', 'member.joined']);
    expect(actions).toContain('member.invitation_withdrawn');
    expect(entries.map(({ document }) => document).join('\n')).not.toMatch(/@|example\.com/);
  });

  test('for an account without a password cannot be accepted; the response says why, and no failed sign-in is counted', async () => {
    const email = 'linked@example.com';
    await addMember(server.open.pool, await server.workspace(), { email, name: 'Linked', role: 'viewer' }, 'operator');
    const link = await invite(email);
    const shown = await useLink(new Browser(server), 'show', { token: tokenOf(link) });
    expect(shown.body).toMatchObject({ account: 'without_password' });
    const refusal = await accept(link, { password: PASSWORD });
    expect([outcome(refusal), refusal.body.issues[0].message]).toEqual([
      '409 refused',
      'this account has no password; ask the operator for a link that sets one: `countersign-server members reset-password`',
    ]);
    const attempts = await server.database.sql('SELECT sum(attempts)::int AS n FROM countersign.sign_in_attempts');
    expect(outcome(await accept(link, { name: 'Linked', password: PASSWORD }))).toBe('409 refused');
    expect(await server.database.sql('SELECT sum(attempts)::int AS n FROM countersign.sign_in_attempts')).toEqual(attempts);
  });
});

describe('the list of invitations', () => {
  test('has at most the newest 1,000, so that very many invitations do not delay other workspaces', async () => {
    const [crowded, role] = [await server.workspace(), 'viewer' as const];
    const { browser } = await createPerson(server, { [crowded]: 'admin' });
    await inTenantTransaction(server.open.pool, crowded, (tx) =>
      Promise.all(
        Array.from({ length: 1_010 }, (_, number) =>
          issueLink(tx, { purpose: 'invitation', workspaceId: crowded, email: `n${number}@example.com`, role }, 'operator'),
        ),
      ),
    );
    await inviteMember(server.open.pool, crowded, { email: 'newest@example.com', role }, 'operator');
    const { items } = (await browser.call('GET', `/workspaces/${crowded}/invitations`)).body;
    expect([items.length, items[0].email]).toEqual([1_000, 'newest@example.com']);
  });
});

describe('the use of a link', () => {
  test('a link works only for its purpose', async () => {
    const token = tokenOf(await invite('mixed@example.com'));
    const password = PASSWORD;
    for (const [purpose, body] of [
      ['reset-password', { token, password }],
      ['sign-in', { token }],
      ['set-up', { token, email: 'x@example.com', name: 'X', password, workspace_name: 'x' }],
    ] as const)
      expect([purpose, outcome(await useLink(new Browser(server), purpose, body))]).toEqual([purpose, GONE]);
    expect(outcome(await useLink(new Browser(server), 'show', { token }))).toBe('200 ok');
  });

  test.each(['', 'x', 'A'.repeat(43), 'A'.repeat(20_000), '\u0000', '%00'])(
    'every unknown token gets the same 410 (%#)',
    async (token) => {
      expect(outcome(await useLink(new Browser(server), 'show', { token }))).toBe(GONE);
    },
  );

  test('rejects a password that is too short or too long at its field and keeps the link valid', async () => {
    const link = await invite('short@example.com');
    for (const [password, code] of [
      ['elevenchars', 'too_short'],
      ['é'.repeat(513), 'bad_format'],
    ]) {
      const { status, body } = await accept(link, { name: 'Short', password });
      expect([status, body.issues[0]]).toMatchObject([422, { path: '/password', code }]);
    }
    expect(outcome(await accept(link, { name: 'Short', password: '            ' }))).toBe('200 ok');
  });

  test('signs the person in even if the database becomes unavailable before the response', async () => {
    const failToConnect = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    const [firstBrowser, secondBrowser] = [new Browser(server), new Browser(server)];
    const { pool, readPool } = server.open;
    const readSpy = vi.spyOn(readPool, 'connect').mockImplementation(failToConnect);
    const firstResponse = await accept(await invite('busy@example.com'), { name: 'Busy', password: PASSWORD }, firstBrowser);
    readSpy.mockRestore();
    expect(outcome(firstResponse)).toBe('200 ok');
    const link = await invite('lost@example.com');
    const query = pool.query.bind(pool) as (config: unknown) => Promise<unknown>;
    const querySpy = vi
      .spyOn(pool as { query: typeof query }, 'query')
      .mockImplementation((config) => ((config as { name?: string }).name === 'find_session' ? failToConnect() : query(config)));
    const secondResponse = await accept(link, { name: 'Lost', password: PASSWORD }, secondBrowser);
    querySpy.mockRestore();
    expect(outcome(secondResponse)).toBe('503 unavailable');
    expect((await secondBrowser.call('GET', '/session')).body).toMatchObject({
      person: { name: 'Lost' },
      memberships: [{ role: 'viewer' }],
    });
  });

  test('an invitation by the operator works like one by an admin', async () => {
    const link = await inviteMember(server.open.pool, workspace, { email: 'op@example.com', role: 'admin' }, 'operator');
    expect((await accept(link, { name: 'Op', password: PASSWORD })).body.memberships).toMatchObject([{ role: 'admin' }]);
  });
});
