import type { Role } from '@countersign/core/portal/route';
import { beforeEach, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { createResetLinkByOperator } from '../../src/people/reset-links.ts';
import { changeRoleOf, insertMembership } from '../../src/storage/memberships.ts';
import { voidLinksOf } from '../../src/storage/one-time-links.ts';
import { lockAccount } from '../../src/storage/people.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
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
const membersOutcome = async (who: Person) => outcome(await who.browser.call('GET', `/workspaces/${workspace}/members`));
const ledgerEntries = () =>
  server.database.sql(
    `SELECT actor, action, document::json ->> 'subject' AS subject FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq`,
    [workspace],
  );

describe('a password reset', () => {
  const requestReset = (of: Person) => admin.browser.call('POST', `${memberPath(of.id)}/password-reset`);
  const useLink = (path: string, password: string, browser = new Browser(server)) =>
    browser.call('POST', '/links/reset-password', { token: path.split('#')[1], password });

  test('by an admin is a link that works once, invalidates the old password and ends every earlier session', async () => {
    const grace = await createPerson(server, { [workspace]: 'viewer' });
    const { body } = await requestReset(grace);
    expect(Math.round((Date.parse(body.expires_at) - Date.now()) / 60_000)).toBe(60);
    const browser = new Browser(server);
    expect((await useLink(body.path, 'another good password', browser)).body.person.id).toBe(grace.id);
    expect(outcome(await browser.call('GET', '/session'))).toBe('200 ok');
    expect(await membersOutcome(grace)).toBe('401 not_signed_in');
    expect(outcome(await useLink(body.path, 'a third good password'))).toBe('410 link_not_valid');
    const signIn = (password: string) => new Browser(server).call('POST', '/session', { email: grace.email, password });
    expect(outcome(await signIn(PASSWORD))).toBe('401 sign_in_failed');
    expect(outcome(await signIn('another good password'))).toBe('200 ok');
    expect(await ledgerEntries()).toMatchObject([
      { actor: `user:${admin.id}`, action: 'member.password_reset', subject: `user:${grace.id}` },
    ]);
  });

  test('by an admin is refused if the member also belongs to a workspace where this admin is not an admin', async () => {
    const elsewhere = await server.workspace();
    const grace = await createPerson(server, { [workspace]: 'viewer', [elsewhere]: 'viewer' });
    expect(outcome(await requestReset(grace))).toBe('409 refused');
    await inTenantTransaction(server.open.pool, elsewhere, (tx) => insertMembership(tx, admin.id, 'approver'));
    expect(outcome(await requestReset(grace))).toBe('409 refused');
    await inTenantTransaction(server.open.pool, elsewhere, (tx) => changeRoleOf(tx, admin.id, 'admin'));
    expect(outcome(await requestReset(grace))).toBe('200 ok');
  });

  test('by the operator works for every account and is recorded in the ledger of each workspace of the person', async () => {
    const grace = await createPerson(server, { [workspace]: 'viewer' });
    const stranger = await createPerson(server);
    for (const { email, id } of [grace, stranger]) {
      const { path } = await createResetLinkByOperator(server.open.pool, email.toUpperCase());
      expect((await useLink(path, 'another good password')).body.person.id).toBe(id);
    }
    expect(await ledgerEntries()).toMatchObject([
      { actor: 'operator', action: 'member.password_reset', subject: `user:${grace.id}` },
    ]);
  });

  test('is invalid after the person joined another workspace or the admin lost the role', async () => {
    const [grace, second] = [
      await createPerson(server, { [workspace]: 'viewer' }),
      await createPerson(server, { [workspace]: 'admin' }),
    ];
    const first = (await requestReset(grace)).body.path;
    const elsewhere = await server.workspace();
    const otherAdmin = await createPerson(server, { [elsewhere]: 'admin' });
    const invited = await otherAdmin.browser.call('POST', `/workspaces/${elsewhere}/invitations`, {
      email: grace.email,
      role: 'viewer',
    });
    const token = invited.body.path.split('#')[1];
    expect(outcome(await new Browser(server).call('POST', '/links/accept-invitation', { token, password: PASSWORD }))).toBe(
      '200 ok',
    );
    expect(outcome(await useLink(first, 'another good password'))).toBe('410 link_not_valid');

    const link = await admin.browser.call('POST', `${memberPath(second.id)}/password-reset`);
    expect(await setRole(second, admin, 'viewer')).toBe('200 ok');
    expect(outcome(await useLink(link.body.path, 'another good password'))).toBe('410 link_not_valid');
  });

  /**
   * Creates a second workspace, an admin of both workspaces, another member of both, and an admin of only the second one. `reset` requests
   * a password reset of the member as the admin of both. `demote` makes the admin of both a viewer in the second workspace.
   */
  async function createAdminOfTwoWorkspaces() {
    const elsewhere = await server.workspace();
    const adminOfBoth = await createPerson(server, { [workspace]: 'admin', [elsewhere]: 'admin' });
    const grace = await createPerson(server, { [workspace]: 'viewer', [elsewhere]: 'admin' });
    const second = await createPerson(server, { [elsewhere]: 'admin' });
    const demote = async () =>
      outcome(await second.browser.call('PATCH', `/workspaces/${elsewhere}/members/${adminOfBoth.id}`, { role: 'viewer' }));
    return {
      elsewhere,
      adminOfBoth,
      grace,
      demote,
      reset: () => adminOfBoth.browser.call('POST', `${memberPath(grace.id)}/password-reset`),
    };
  }

  test('is invalid after the admin lost the role in another workspace of the person', async () => {
    const { demote, reset } = await createAdminOfTwoWorkspaces();
    const { body } = await reset();
    expect(await demote()).toBe('200 ok');
    expect(outcome(await useLink(body.path, 'another good password'))).toBe('410 link_not_valid');
  });

  test('is refused while the admin loses the role in another workspace of the person', async () => {
    const { elsewhere, adminOfBoth, reset } = await createAdminOfTwoWorkspaces();
    let response: Promise<TestResponse> | undefined;
    await inTenantTransaction(server.open.pool, elsewhere, async (tx) => {
      await changeRoleOf(tx, adminOfBoth.id, 'viewer');
      await lockAccount(tx, adminOfBoth.id);
      response = reset();
      await Promise.race([response, waitForBlockedStatements(server.database)]);
    });
    expect(outcome(await response!)).toBe('409 refused');
  });

  test('waits, without a deadlock, while the person joins another workspace, and is then invalid', async () => {
    const grace = await createPerson(server, { [workspace]: 'viewer' });
    const { body } = await requestReset(grace);
    let response: Promise<TestResponse> | undefined;
    // This transaction locks in the same order as when a person joins a workspace: first the account, then the links.
    await inTenantTransaction(server.open.pool, await server.workspace(), async (tx) => {
      await lockAccount(tx, grace.id);
      response = useLink(body.path, 'another good password');
      await Promise.race([response, waitForBlockedStatements(server.database)]);
      await voidLinksOf(tx, grace.id);
    });
    expect(outcome(await response!)).toBe('410 link_not_valid');
  });

  test("is refused for the admin's own account, so that a session alone cannot change the password", async () => {
    expect(outcome(await requestReset(admin))).toBe('409 refused');
    expect(await ledgerEntries()).toEqual([]);
  });
});
