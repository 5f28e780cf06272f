import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { inviteMember } from '../../src/people/members.ts';
import { createWorkspaceSetUpLink } from '../../src/people/one-time-links.ts';
import { hashPassword } from '../../src/people/password-hash.ts';
import { newToken } from '../../src/people/secret-token.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { bytesLiteral, insertRow, textLiteral } from './insert-row.ts';

const lines: string[] = [];
const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });

let server: TestServer;
let tenantId: string;
let admin: Person;
let viewer: Person;
beforeAll(async () => {
  server = await testServer({ log });
  tenantId = await server.workspace('victim');
  admin = await createPerson(server, { [tenantId]: 'admin' });
});
afterEach(() => {
  lines.length = 0;
});

const sql = (statement: string, values: unknown[] = []) => server.database.sql(statement, values);
const browserOf = (token: string) => new Browser(server, `countersign=${token}`);
const readSession = (browser: Browser) => browser.call('GET', '/session');
const signIn = (email: string, password: string) => new Browser(server).call('POST', '/session', { email, password });
const membersOf = (browser: Browser) => browser.call('GET', `/workspaces/${tenantId}/members`);
const tokenOf = (path: string) => path.slice(path.indexOf('#') + 1);
const openLink = (token: string) => new Browser(server).call('POST', '/links/show', { token });

/** Expects that the server's log names exactly these rows of the table. Also expects that the metric is not 0 and that /readyz warns. */
async function expectReport(table: string, keys: Record<string, string>[]): Promise<void> {
  const reports = lines.map((line) => JSON.parse(line)).filter((line) => line.table === table);
  expect(reports.map(({ level, key }) => ({ level, key }))).toEqual(keys.map((key) => ({ level: 50, key })));
  expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(
    new RegExp(`countersign_broken_seals_total\\{table="${table}"\\} [1-9]`),
  );
  const ready = await (await fetch(`${server.url}/readyz`)).json();
  expect((ready as { warnings: string[] }).warnings.join(' ')).toContain(table);
}

describe('the server accepts only sessions that it started', () => {
  const sessionColumns = (tokenSha256: Buffer, personId: string, id: string) => ({
    ...{ token_sha256: bytesLiteral(tokenSha256), id: textLiteral(id), person_id: textLiteral(personId) },
    ...{ created_at: 'clock_timestamp()', expires_at: `clock_timestamp() + interval '1 day'` },
  });

  test('rejects a session inserted for an admin', async () => {
    const { token, tokenSha256 } = newToken();
    const id = randomUUID();
    await insertRow(server.database, 'sessions', sessionColumns(tokenSha256, admin.id, id));
    expect((await readSession(browserOf(token))).status).toBe(401);
    expect((await membersOf(browserOf(token))).status).toBe(401);
    await expectReport('sessions', [{ id }]);
  });

  test("rejects a session whose person, expiry or token was changed, or that has another row's seal", async () => {
    const [mine, other] = [await createPerson(server), await createPerson(server)];
    const { token, tokenSha256 } = newToken();
    for (const set of [
      `person_id = '${admin.id}'`,
      `expires_at = expires_at + interval '1 microsecond'`,
      `token_sha256 = ${bytesLiteral(tokenSha256)}`,
      `seal = (SELECT seal FROM countersign.sessions WHERE person_id = '${other.id}')`,
    ]) {
      const victim = await createPerson(server);
      await sql(`UPDATE countersign.sessions SET ${set} WHERE person_id = $1`, [victim.id]);
      expect([set, (await readSession(victim.browser)).status]).toEqual([set, 401]);
    }
    expect((await readSession(browserOf(token))).status).toBe(401);
    expect((await readSession(mine.browser)).status).toBe(200);
  });

  test('rejects a session that a trigger assigns to another person', async () => {
    await sql(`CREATE FUNCTION public.steer() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN NEW.person_id := '${admin.id}'; RETURN NEW; END$$`);
    await sql('CREATE TRIGGER steer BEFORE INSERT ON countersign.sessions FOR EACH ROW EXECUTE FUNCTION public.steer()');
    try {
      expect((await readSession((await createPerson(server)).browser)).status).toBe(401);
    } finally {
      await sql('DROP TRIGGER steer ON countersign.sessions');
      await sql('DROP FUNCTION public.steer');
    }
  });
});

describe('the server signs in only accounts that it wrote', () => {
  test('rejects a replaced password hash and a changed email address', async () => {
    const victim = await createPerson(server, { [tenantId]: 'admin' });
    expect((await signIn(victim.email, PASSWORD)).status).toBe(200);
    await sql('UPDATE countersign.people SET password = $2 WHERE id = $1', [
      victim.id,
      await hashPassword('chosen by the attacker'),
    ]);
    const refused = await signIn(victim.email, 'chosen by the attacker');
    expect([refused.status, refused.body.error]).toEqual([401, 'sign_in_failed']);
    expect((await readSession(victim.browser)).status).toBe(401);
    await expectReport('people', [{ id: victim.id }]);

    const [mine, theirs] = [await createPerson(server), await createPerson(server, { [tenantId]: 'admin' })];
    await sql(`UPDATE countersign.people SET email = 'gone@example.com' WHERE id = $1`, [theirs.id]);
    await sql('UPDATE countersign.people SET email = $2 WHERE id = $1', [mine.id, theirs.email]);
    expect((await signIn(theirs.email, PASSWORD)).status).toBe(401);
  });

  test('rejects an inserted account', async () => {
    const account = { id: textLiteral(randomUUID()), email: textLiteral('inserted@example.com'), name: textLiteral('inserted') };
    const password = textLiteral(await hashPassword('chosen by the attacker'));
    await insertRow(server.database, 'people', { ...account, password, password_changed_at: 'clock_timestamp()' });
    expect((await signIn('inserted@example.com', 'chosen by the attacker')).status).toBe(401);
  });
});

describe('the server accepts only one-time links that it made', () => {
  test('rejects an inserted set-up link and an inserted password reset', async () => {
    const ids = [randomUUID(), randomUUID()];
    for (const [index, linkColumns] of [
      { purpose: textLiteral('set_up'), tenant_id: textLiteral(tenantId), role: textLiteral('admin') },
      { purpose: textLiteral('password_reset'), person_id: textLiteral(admin.id) },
    ].entries()) {
      const { token, tokenSha256 } = newToken();
      const row = {
        token_sha256: bytesLiteral(tokenSha256),
        id: textLiteral(ids[index]!),
        made_by: textLiteral('operator'),
        ...linkColumns,
      };
      const times = { created_at: 'clock_timestamp()', expires_at: `clock_timestamp() + interval '1 day'` };
      await insertRow(server.database, 'one_time_links', { ...row, ...times });
      expect((await openLink(token)).status).toBe(410);
      const response = await new Browser(server).call('POST', '/links/reset-password', {
        token,
        password: 'chosen by the attacker',
      });
      expect(response.status).toBe(410);
    }
    await expectReport(
      'one_time_links',
      ids.map((id) => ({ id })),
    );
  });

  test('rejects a link whose role, email address, expiry or workspace was changed', async () => {
    const other = await server.workspace();
    for (const [index, set] of [
      `role = 'admin'`,
      `email = 'mallory@example.com'`,
      `expires_at = expires_at + interval '1 day'`,
      `tenant_id = '${other}'`,
    ].entries()) {
      const invitation = { email: `invited-${index}@example.com`, role: 'viewer' as const };
      const { id, path } = await inviteMember(server.open.pool, tenantId, invitation, 'operator');
      expect((await openLink(tokenOf(path))).status).toBe(200);
      await sql(`UPDATE countersign.one_time_links SET ${set} WHERE id = $1`, [id]);
      expect([set, (await openLink(tokenOf(path))).status]).toEqual([set, 410]);
    }
    const { path } = await createWorkspaceSetUpLink(server.open.pool, tenantId);
    expect((await openLink(tokenOf(path))).status).toBe(200);
  });

  test('rejects the withdrawal of a changed invitation and keeps its row', async () => {
    const { id } = await inviteMember(server.open.pool, tenantId, { email: 'kept@example.com', role: 'viewer' }, 'operator');
    await sql(`UPDATE countersign.one_time_links SET role = 'admin' WHERE id = $1`, [id]);
    const path = `/workspaces/${tenantId}/invitations/${id}`;
    expect((await admin.browser.call('DELETE', path)).status).toBe(404);
    expect(await sql('SELECT role FROM countersign.one_time_links WHERE id = $1', [id])).toEqual([{ role: 'admin' }]);
  });
});

describe('the server accepts only memberships that it wrote', () => {
  test('ignores an inserted membership, and a membership whose role was raised', async () => {
    const outsider = await createPerson(server);
    await insertRow(server.database, 'memberships', {
      ...{
        tenant_id: textLiteral(tenantId),
        person_id: textLiteral(outsider.id),
        role: textLiteral('admin'),
        joined_at: 'clock_timestamp()',
      },
    });
    expect((await membersOf(outsider.browser)).status).toBe(404);
    expect((await readSession(outsider.browser)).body.memberships).toEqual([]);
    await expectReport('memberships', [{ personId: outsider.id }]);

    viewer = await createPerson(server, { [tenantId]: 'viewer' });
    await sql(`UPDATE countersign.memberships SET role = 'admin' WHERE person_id = $1`, [viewer.id]);
    expect((await membersOf(viewer.browser)).status).toBe(404);
    const listedIds = (await membersOf(admin.browser)).body.items.map((item: { person_id: string }) => item.person_id);
    expect(listedIds).toContain(admin.id);
    expect(listedIds).not.toContain(viewer.id);
  });

  test('does not count an inserted admin when the last admin leaves', async () => {
    const workspaceId = await server.workspace();
    const lastAdmin = await createPerson(server, { [workspaceId]: 'admin' });
    const outsider = await createPerson(server);
    await insertRow(server.database, 'memberships', {
      ...{
        tenant_id: textLiteral(workspaceId),
        person_id: textLiteral(outsider.id),
        role: textLiteral('admin'),
        joined_at: 'clock_timestamp()',
      },
    });
    expect((await lastAdmin.browser.call('DELETE', `/workspaces/${workspaceId}/membership`)).status).toBe(409);
  });

  test('rejects a raised role when an act reads the role again in its transaction', async () => {
    const { requireCurrentRole } = await import('../../src/workspace/actor.ts');
    const person = await createPerson(server, { [tenantId]: 'viewer' });
    await sql(`UPDATE countersign.memberships SET role = 'admin' WHERE person_id = $1`, [person.id]);
    await expect(
      inTenantTransaction(server.open.pool, tenantId, (tx) => requireCurrentRole(tx, { personId: person.id, role: 'admin' })),
    ).rejects.toMatchObject({ name: 'RuleViolationError', message: 'you are no longer a member of this workspace' });
    await expectReport('memberships', [{ personId: person.id }]);
  });
});
