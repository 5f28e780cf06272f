import type { Role } from '@countersign/core/portal/route';
import { beforeEach, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { addMember } from '../../src/people/add-member.ts';
import { changeRoleOf } from '../../src/storage/memberships.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { Browser, createPerson, type Person } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

const server: TestServer = await testServer();
let workspace: string;
let admin: Person;

beforeEach(async () => {
  workspace = await server.workspace();
  admin = await createPerson(server, { [workspace]: 'admin' });
});

const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;
const memberPath = (id: string) => `/workspaces/${workspace}/members/${id}`;
const setRole = async (by: Person, of: Person, role: Role) =>
  outcome(await by.browser.call('PATCH', memberPath(of.id), { role }));
const remove = async (by: Person, of: Person) => outcome(await by.browser.call('DELETE', memberPath(of.id)));
const membersOutcome = async (who: Person) => outcome(await who.browser.call('GET', `/workspaces/${workspace}/members`));
const countAdmins = async () =>
  (
    await server.database.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM countersign.memberships WHERE tenant_id = $1 AND role = 'admin'`,
      [workspace],
    )
  )[0]!.n;
const ledgerEntries = () =>
  server.database.sql(
    `SELECT actor, action, document::json ->> 'subject' AS subject, document::json -> 'metadata' AS metadata
       FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq`,
    [workspace],
  );

describe('roles and memberships', () => {
  test('a changed role takes effect on the next request and is recorded in the ledger', async () => {
    const grace = await createPerson(server, { [workspace]: 'viewer' });
    const invitations = () => grace.browser.call('GET', `/workspaces/${workspace}/invitations`);
    expect(outcome(await invitations())).toBe('403 forbidden');
    expect(await setRole(admin, grace, 'admin')).toBe('200 ok');
    expect(outcome(await invitations())).toBe('200 ok');
    expect(await setRole(admin, grace, 'admin')).toBe('200 ok');
    const by = `user:${admin.id}`;
    const metadata = { from: 'viewer', to: 'admin' };
    expect(await ledgerEntries()).toEqual([{ actor: by, action: 'member.role_changed', subject: `user:${grace.id}`, metadata }]);
  });

  test('members who are removed or leave lose access on the next request, and the ledger records each case', async () => {
    const elsewhere = await server.workspace();
    const removed = await createPerson(server, { [workspace]: 'approver', [elsewhere]: 'viewer' });
    const leaving = await createPerson(server, { [workspace]: 'viewer' });
    expect([await membersOutcome(removed), await membersOutcome(leaving)]).toEqual(['200 ok', '200 ok']);
    expect(await remove(admin, removed)).toBe('200 ok');
    expect(outcome(await leaving.browser.call('DELETE', `/workspaces/${workspace}/membership`))).toBe('200 ok');
    expect(await membersOutcome(removed)).toBe('404 not_found');
    expect(outcome(await removed.browser.call('GET', '/session'))).toBe('200 ok');
    // A person without any membership is signed out.
    expect(outcome(await leaving.browser.call('GET', '/session'))).toBe('401 not_signed_in');
    expect(await remove(admin, removed)).toBe('404 not_found');
    expect(await ledgerEntries()).toMatchObject([
      { actor: `user:${admin.id}`, action: 'member.removed', subject: `user:${removed.id}` },
      { actor: `user:${leaving.id}`, action: 'member.removed', subject: `user:${leaving.id}` },
    ]);
  });

  test('an invitation is invalid as soon as its sender is no longer an admin', async () => {
    const second = await createPerson(server, { [workspace]: 'admin' });
    const { body } = await second.browser.call('POST', `/workspaces/${workspace}/invitations`, {
      email: 'back@example.com',
      role: 'admin',
    });
    expect(await setRole(admin, second, 'viewer')).toBe('200 ok');
    const token = body.path.split('#')[1];
    expect(outcome(await new Browser(server).call('POST', '/links/show', { token }))).toBe('410 link_not_valid');
  });

  test('a link that signs a member in to the workspace is invalid after the member is removed', async () => {
    const guest = { email: 'guest@example.com', name: 'Guest', role: 'viewer' } as const;
    const { path } = await addMember(server.open.pool, workspace, guest, 'operator');
    const { items } = (await admin.browser.call('GET', `/workspaces/${workspace}/members`)).body;
    const { person_id } = items.find(({ email }: { email: string }) => email === guest.email);
    expect(outcome(await admin.browser.call('DELETE', memberPath(person_id)))).toBe('200 ok');
    const token = path.split('#')[1];
    expect(outcome(await new Browser(server).call('POST', '/links/sign-in', { token }))).toBe('410 link_not_valid');
  });
});

describe('an admin whose role is being changed to viewer', () => {
  test.each([
    [
      'invite',
      (by: Person) => by.browser.call('POST', `/workspaces/${workspace}/invitations`, { email: 'x@example.com', role: 'admin' }),
    ],
    ['demote the other admin', (by: Person) => by.browser.call('PATCH', memberPath(admin.id), { role: 'viewer' })],
    ['remove the other admin', (by: Person) => by.browser.call('DELETE', memberPath(admin.id))],
  ])('cannot %s: the request waits and is rejected', async (_what, act) => {
    const second = await createPerson(server, { [workspace]: 'admin' });
    let response: Promise<TestResponse> | undefined;
    await inTenantTransaction(server.open.pool, workspace, async (tx) => {
      await lockLogs(tx, ['audit']);
      await changeRoleOf(tx, second.id, 'viewer');
      response = act(second);
      await Promise.race([response, waitForBlockedStatements(server.database)]);
    });
    expect(outcome(await response!)).toBe('409 refused');
    expect(await ledgerEntries()).toEqual([]);
  });
});

describe('the last admin', () => {
  test('cannot leave, be removed or be demoted', async () => {
    expect(await setRole(admin, admin, 'viewer')).toBe('409 refused');
    expect(await remove(admin, admin)).toBe('409 refused');
    expect(outcome(await admin.browser.call('DELETE', `/workspaces/${workspace}/membership`))).toBe('409 refused');
    expect(await countAdmins()).toBe(1);
    expect(await ledgerEntries()).toEqual([]);
  });

  test.each([
    ['demote each other', (by: Person, other: Person) => setRole(by, other, 'viewer')],
    ['remove each other', (by: Person, other: Person) => remove(by, other)],
    ['demote themselves', (by: Person) => setRole(by, by, 'viewer')],
    ['leave', async (by: Person) => outcome(await by.browser.call('DELETE', `/workspaces/${workspace}/membership`))],
  ])('remains when all admins %s at the same time', async (_what, act) => {
    const all = [
      admin,
      await createPerson(server, { [workspace]: 'admin' }),
      await createPerson(server, { [workspace]: 'admin' }),
    ];
    const outcomes = await Promise.all(all.map((by, index) => act(by, all[(index + 1) % all.length]!)));
    expect(await countAdmins()).toBeGreaterThan(0);
    expect(outcomes.filter((response) => response === '200 ok').length).toBe(3 - (await countAdmins()));
    expect(await ledgerEntries()).toHaveLength(3 - (await countAdmins()));
  });
});
