import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let admin: Person;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  admin = await createPerson(server, { [workspace]: 'admin' });
});

const outcome = ({ status, body }: Pick<TestResponse, 'status' | 'body'>) => `${status} ${body.error ?? 'ok'}`;
const KEY_TO_MINT = { kind: 'live', name: 'late', scopes: ['audit'] };
const keysPath = () => `/workspaces/${workspace}/keys`;

/**
 * Sends a request without the end of its body, and waits until the server has checked the session. Returns a function that sends the end
 * of the body and returns the outcome of the request.
 */
async function startRequest({ url, cookie }: Browser, method: string, path: string, body: object) {
  const text = JSON.stringify(body);
  const clientRequest = request(`${url}/api/portal${path}`, {
    method,
    headers: { origin: url, cookie, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
  });
  const response = new Promise<Pick<TestResponse, 'status' | 'body'>>((resolve, reject) => {
    clientRequest.on('error', reject).on('response', async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode!, body: JSON.parse(Buffer.concat(chunks).toString()) });
    });
  });
  const readLastUse = () => server.database.sql<{ at: Date }>(`SELECT max(last_used_at) AS at FROM countersign.sessions`);
  await server.database.sql(`UPDATE countersign.sessions SET last_used_at = clock_timestamp() - interval '1 hour'`);
  const before = (await readLastUse())[0]!.at.getTime();
  clientRequest.write(text.slice(0, 5));
  while ((await readLastUse())[0]!.at.getTime() === before) await sleep(5);
  return async () => {
    clientRequest.end(text.slice(5));
    return outcome(await response);
  };
}

describe('an act whose body arrives after the caller was authorized', () => {
  test('is rejected and creates nothing if the caller is removed before the end of the body arrives', async () => {
    const elsewhere = await server.workspace();
    const second = await createPerson(server, { [workspace]: 'admin', [elsewhere]: 'viewer' });
    const finish = await startRequest(second.browser, 'POST', keysPath(), KEY_TO_MINT);
    expect(outcome(await admin.browser.call('DELETE', `/workspaces/${workspace}/members/${second.id}`))).toBe('200 ok');
    expect(await finish()).toBe('404 not_found');
    expect(await server.database.sql('SELECT 1 FROM countersign.ingestion_keys WHERE tenant_id = $1', [workspace])).toEqual([]);
  });

  test("is rejected if the caller's role is changed before the end of the body arrives", async () => {
    const second = await createPerson(server, { [workspace]: 'admin' });
    const finish = await startRequest(second.browser, 'POST', keysPath(), KEY_TO_MINT);
    await admin.browser.call('PATCH', `/workspaces/${workspace}/members/${second.id}`, { role: 'approver' });
    expect(await finish()).toBe('403 forbidden');
  });

  test('is rejected if a sign-out or a password change ends the session before the end of the body arrives', async () => {
    const ada = await createPerson(server);
    const rename = await startRequest(ada.browser, 'PATCH', '/account', { name: 'Mallory' });
    await ada.browser.call('DELETE', '/session');
    expect(await rename()).toBe('401 not_signed_in');

    const grace = await createPerson(server, { [workspace]: 'admin' });
    const mint = await startRequest(grace.browser, 'POST', keysPath(), KEY_TO_MINT);
    const passwords = { current_password: PASSWORD, new_password: 'another good password' };
    expect(outcome(await grace.browser.call('POST', '/account/password', passwords))).toBe('200 ok');
    expect(await mint()).toBe('401 not_signed_in');
  });

  test('succeeds if the caller is still authorized', async () => {
    const finish = await startRequest(admin.browser, 'POST', keysPath(), KEY_TO_MINT);
    expect(await finish()).toBe('200 ok');
  });
});
