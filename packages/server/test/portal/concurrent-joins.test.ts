import { beforeAll, describe, expect, test } from 'vitest';
import { inPersonTransaction, inTenantTransaction } from '../../src/database/transaction.ts';
import { addMember } from '../../src/people/add-member.ts';
import { createSetUpLink, endSetUp } from '../../src/people/one-time-links.ts';
import { hashPassword } from '../../src/people/password-hash.ts';
import { createResetLinkByOperator } from '../../src/people/reset-links.ts';
import { deleteMembership } from '../../src/storage/memberships.ts';
import { newId } from '../../src/storage/new-id.ts';
import { insertPerson, lockAccount, setPassword } from '../../src/storage/people.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let admin: Person;

beforeAll(async () => {
  server = await testServer();
});

const NEW_PASSWORD = 'another good password';
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;
const tokenOf = ({ path }: { path: string }) => path.split('#')[1]!;
const useLink = (purpose: string, link: { path: string }, form: object) =>
  new Browser(server).call('POST', `/links/${purpose}`, { token: tokenOf(link), ...form });
const invite = async (by: Person, where: string, email: string) =>
  (await by.browser.call('POST', `/workspaces/${where}/invitations`, { email, role: 'viewer' })).body as { path: string };

describe('the set-up link of the first start', () => {
  test('stops working once an account has a password', async () => {
    const { pool } = server.open;
    const first = (await createSetUpLink(pool))!;
    workspace = await server.workspace();
    const guest = { email: 'guest@example.com', name: 'Guest', role: 'viewer' } as const;
    await addMember(pool, workspace, guest, 'operator');
    expect(outcome(await useLink('show', first, {}))).toBe('200 ok');
    expect(
      outcome(await useLink('reset-password', await createResetLinkByOperator(pool, guest.email), { password: NEW_PASSWORD })),
    ).toBe('200 ok');
    expect(outcome(await useLink('show', first, {}))).toBe('410 link_not_valid');
    admin = await createPerson(server, { [workspace]: 'admin' });
  });

  test('is not created by a server that starts while the first person sets a password', async () => {
    const fresh = await testServer();
    const { pool } = fresh.open;
    const first = { id: newId(), email: 'first@example.com', name: 'First', password: await hashPassword(PASSWORD) };
    let link: Promise<unknown> | undefined;
    await inPersonTransaction(pool, first.id, async (tx) => {
      await insertPerson(tx, first);
      await endSetUp(tx);
      link = createSetUpLink(pool);
      await waitForBlockedStatements(fresh.database);
    });
    expect(await link).toBeUndefined();
  });
});

describe('`members add`', () => {
  test('rejects an account that gets its password at the same moment', async () => {
    const { pool } = server.open;
    const person = { email: 'later@example.com', name: 'Later', role: 'viewer' } as const;
    await addMember(pool, workspace, person, 'operator');
    const id = (
      await server.database.sql<{ id: string }>('SELECT id FROM countersign.people WHERE email = $1', [person.email])
    )[0]!.id;
    const otherWorkspace = await server.workspace();
    const hash = await hashPassword(NEW_PASSWORD);
    let adding: Promise<unknown> | undefined;
    await inPersonTransaction(pool, id, async (tx) => {
      await lockAccount(tx, id);
      await setPassword(tx, id, hash);
      adding = addMember(pool, otherWorkspace, person, 'operator').catch((error: Error) => error.message);
      await waitForBlockedStatements(server.database);
    });
    expect(await adding).toMatch(/has a password; use `members invite`/);
  });
});

describe('a new password', () => {
  test('invalidates every other password reset link', async () => {
    const grace = await createPerson(server, { [workspace]: 'viewer' });
    const createLink = async () =>
      (await admin.browser.call('POST', `/workspaces/${workspace}/members/${grace.id}/password-reset`)).body as { path: string };
    const [one, two, three] = [await createLink(), await createLink(), await createLink()];
    expect(outcome(await useLink('reset-password', one, { password: NEW_PASSWORD }))).toBe('200 ok');
    expect(outcome(await useLink('reset-password', two, { password: PASSWORD }))).toBe('410 link_not_valid');
    expect(outcome(await useLink('show', three, {}))).toBe('410 link_not_valid');
  });

  test('replaces the old one for invitations, even if a request with the old password arrived before the change was committed', async () => {
    const grace = await createPerson(server);
    const invitation = await invite(admin, workspace, grace.email);
    const hash = await hashPassword(NEW_PASSWORD);
    let response: Promise<TestResponse> | undefined;
    await inPersonTransaction(server.open.pool, grace.id, async (tx) => {
      await lockAccount(tx, grace.id);
      await setPassword(tx, grace.id, hash);
      response = useLink('accept-invitation', invitation, { password: PASSWORD });
      await Promise.race([response, waitForBlockedStatements(server.database)]);
    });
    expect(outcome(await response!)).toBe('401 sign_in_failed');
    expect(outcome(await useLink('accept-invitation', invitation, { password: NEW_PASSWORD }))).toBe('200 ok');
  });
});

describe('wrong passwords', () => {
  test('on invitations and in password changes count toward the same limit', async () => {
    const grace = await createPerson(server);
    const invitation = await invite(admin, workspace, grace.email);
    const change = { current_password: 'not the password', new_password: NEW_PASSWORD };
    const outcomes: string[] = [];
    for (let number = 0; number < 6; number += 1) {
      outcomes.push(outcome(await useLink('accept-invitation', invitation, { password: 'not the password' })));
      outcomes.push(outcome(await grace.browser.call('POST', '/account/password', change)));
    }
    expect(outcomes).toEqual([...Array(10).fill('401 sign_in_failed'), ...Array(2).fill('429 rate_limited')]);
    expect(outcome(await useLink('accept-invitation', invitation, { password: PASSWORD }))).toBe('429 rate_limited');
  });
});

describe('a new person', () => {
  test('who joins two workspaces at the same time gets one account, with the password of the request that succeeds', async () => {
    const otherWorkspace = await server.workspace();
    const otherAdmin = await createPerson(server, { [otherWorkspace]: 'admin' });
    const email = 'newcomer@example.com';
    const links = [await invite(admin, workspace, email), await invite(otherAdmin, otherWorkspace, email)];
    const responses = await Promise.all(
      links.map((link, number) => useLink('accept-invitation', link, { name: 'New', password: `${NEW_PASSWORD} ${number}` })),
    );
    expect(responses.map(outcome).sort()).toEqual(['200 ok', '401 sign_in_failed']);
    const first = responses.findIndex(({ status }) => status === 200);
    const signIn = (number: number) =>
      new Browser(server).call('POST', '/session', { email, password: `${NEW_PASSWORD} ${number}` });
    expect([outcome(await signIn(first)), outcome(await signIn(1 - first))]).toEqual(['200 ok', '401 sign_in_failed']);
    expect(outcome(await useLink('accept-invitation', links[1 - first]!, { password: `${NEW_PASSWORD} ${first}` }))).toBe(
      '200 ok',
    );
  });
});

describe('a person who is removed from their last two workspaces at the same time', () => {
  test('is signed out', async () => {
    const [firstWorkspace, secondWorkspace] = [await server.workspace(), await server.workspace()];
    const owner = await createPerson(server, { [firstWorkspace]: 'admin', [secondWorkspace]: 'admin' });
    const person = await createPerson(server, { [firstWorkspace]: 'viewer', [secondWorkspace]: 'viewer' });
    let response: Promise<TestResponse> | undefined;
    await inTenantTransaction(server.open.pool, firstWorkspace, async (tx) => {
      await lockAccount(tx, person.id);
      await deleteMembership(tx, person.id);
      response = owner.browser.call('DELETE', `/workspaces/${secondWorkspace}/members/${person.id}`);
      await Promise.race([response, waitForBlockedStatements(server.database)]);
    });
    expect(outcome(await response!)).toBe('200 ok');
    expect(outcome(await person.browser.call('GET', '/session'))).toBe('401 not_signed_in');
  });
});
