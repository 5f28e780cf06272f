import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inPersonTransaction, inTenantTransaction } from '../../src/database/transaction.ts';
import { membershipsOf, workspacesOf } from '../../src/storage/memberships.ts';
import { createPerson, type Person } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspaces: [string, string];
let ada: Person;
let grace: Person;
let serverClient: pg.Client;

beforeAll(async () => {
  server = await testServer();
  workspaces = [await server.workspace('first'), await server.workspace('second')];
  ada = await createPerson(server, { [workspaces[0]]: 'admin', [workspaces[1]]: 'viewer' });
  grace = await createPerson(server, { [workspaces[1]]: 'admin' });
  serverClient = new pg.Client(server.database.server);
  await serverClient.connect();
});
afterAll(() => serverClient.end());

/** Sets the tenant and the person of the connection. */
const actAs = async ({ tenant = '', person = '' }: { tenant?: string; person?: string }) => {
  await serverClient.query(
    `SELECT set_config('countersign.tenant_id', $1, false), set_config('countersign.person_id', $2, false)`,
    [tenant, person],
  );
};
const visibleMemberships = async () =>
  (await serverClient.query('SELECT tenant_id, person_id FROM countersign.memberships')).rows.map(
    ({ tenant_id, person_id }) => `${tenant_id} ${person_id}`,
  );
const errorCodeOf = (query: Promise<unknown>): Promise<string> =>
  query.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

describe('the table of memberships', () => {
  test('shows no row if neither a tenant nor a person is set', async () => {
    await actAs({});
    expect(await visibleMemberships()).toEqual([]);
  });

  test('shows only the rows of the current tenant or the current person to a query without a filter', async () => {
    await actAs({ tenant: workspaces[1] });
    expect((await visibleMemberships()).sort()).toEqual([`${workspaces[1]} ${ada.id}`, `${workspaces[1]} ${grace.id}`].sort());
    await actAs({ person: grace.id });
    expect(await visibleMemberships()).toEqual([`${workspaces[1]} ${grace.id}`]);
  });

  test('if a person but no tenant is set, INSERT is rejected, and UPDATE and DELETE change no row', async () => {
    await actAs({ person: grace.id });
    const insert = `INSERT INTO countersign.memberships (tenant_id, person_id, role, joined_at, seal)
      VALUES ($1, $2, 'admin', now(), sha256('') || '\\x00')`;
    expect(await errorCodeOf(serverClient.query(insert, [workspaces[0], grace.id]))).toBe('42501');
    expect((await serverClient.query(`UPDATE countersign.memberships SET role = 'viewer'`)).rowCount).toBe(0);
    expect((await serverClient.query('DELETE FROM countersign.memberships')).rowCount).toBe(0);
  });

  test('in a transaction of a tenant, shows rows of other tenants only to the statement `workspacesOf`', async () => {
    const { pool } = server.open;
    const [workspacesOfAda, rowsAfterwards] = await inTenantTransaction(pool, workspaces[1], async (tx) => [
      await workspacesOf(tx, ada.id),
      await tx.run({ name: 'test_all_memberships', text: 'SELECT tenant_id FROM countersign.memberships' }, []),
    ]);
    expect(workspacesOfAda).toHaveLength(2);
    expect(rowsAfterwards).toEqual([{ tenant_id: workspaces[1] }, { tenant_id: workspaces[1] }]);
    expect(await inPersonTransaction(pool, ada.id, membershipsOf)).toMatchObject([{ role: 'admin' }, { role: 'viewer' }]);
  });
});

describe('the API', () => {
  test('gives an admin no access to members and invitations of another workspace', async () => {
    const { browser } = ada;
    const invited = await grace.browser.call('POST', `/workspaces/${workspaces[1]}/invitations`, {
      email: 'x@example.com',
      role: 'viewer',
    });
    expect(invited.status).toBe(200);
    const [{ id }] = (await grace.browser.call('GET', `/workspaces/${workspaces[1]}/invitations`)).body.items;
    const ownPath = `/workspaces/${workspaces[0]}`;
    const responses = [
      await browser.call('DELETE', `${ownPath}/members/${grace.id}`),
      await browser.call('PATCH', `${ownPath}/members/${grace.id}`, { role: 'viewer' }),
      await browser.call('POST', `${ownPath}/members/${grace.id}/password-reset`),
      await browser.call('DELETE', `${ownPath}/invitations/${id}`),
    ];
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(
      (await browser.call('GET', `${ownPath}/members`)).body.items.map((each: { person_id: string }) => each.person_id),
    ).toEqual([ada.id]);
    expect((await browser.call('GET', `${ownPath}/invitations`)).body.items).toEqual([]);
    // An invitation replaces only an earlier invitation to the same address in the same workspace.
    const sameInvitation = { email: 'x@example.com', role: 'viewer' };
    expect((await browser.call('POST', `${ownPath}/invitations`, sameInvitation)).status).toBe(200);
    expect((await grace.browser.call('GET', `/workspaces/${workspaces[1]}/invitations`)).body.items).toMatchObject([{ id }]);
  });
});
