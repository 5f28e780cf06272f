import { beforeAll, beforeEach, expect, test } from 'vitest';
import { serverLog } from '../../src/app/server-log.ts';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const lines: string[] = [];
let server: TestServer;
let workspace: string;
let admin: Person;

beforeAll(async () => {
  const log = serverLog('trace', { write: (line) => void lines.push(line) });
  server = await testServer({ log });
  workspace = await server.workspace();
  admin = await createPerson(server, { [workspace]: 'admin' }, 'ada@example.com');
});
beforeEach(() => {
  lines.length = 0;
});

const NEW_PASSWORD = 'another good password';

/** Expects that lines were logged and that none contains any of the texts. */
function expectNotLogged(secrets: readonly (string | undefined)[]): void {
  const log = lines.join('');
  expect(lines.length).toBeGreaterThan(0);
  for (const secret of secrets) {
    expect(secret!.length).toBeGreaterThan(8);
    expect(log).not.toContain(secret);
  }
}

test('the server logs no password, cookie, one-time link, key or email address at level trace', async () => {
  const workspacePath = `/workspaces/${workspace}`;
  const secrets: (string | undefined)[] = [PASSWORD, NEW_PASSWORD, 'wrong password', 'ada@example.com', 'grace@example.com'];
  const browser = new Browser(server);
  await browser.call('POST', '/session', { email: 'ada@example.com', password: 'wrong password' });
  await browser.call('POST', '/session', { email: 'ada@example.com', password: PASSWORD });
  const { body: invited } = await browser.call('POST', `${workspacePath}/invitations`, {
    email: 'grace@example.com',
    role: 'viewer',
  });
  const token = invited.path.split('#')[1];
  await new Browser(server).call('POST', '/links/show', { token });
  for (let sentCount = 0; sentCount < 2; sentCount += 1)
    await new Browser(server).call('POST', '/links/accept-invitation', { token, name: 'Grace', password: NEW_PASSWORD });
  const { body: minted } = await browser.call('POST', `${workspacePath}/keys`, { kind: 'live', name: 'k', scopes: ['audit'] });
  await server.post(paths.audit, minted.key, { actor: 'a', action: 'b' });
  await server.post(paths.audit, minted.key.slice(0, -1), { actor: 'a', action: 'b' });
  const { body: signing } = await browser.call('GET', `${workspacePath}/signing`);
  const shown = await browser.call('POST', `${workspacePath}/decision-keys/${signing.decision_keys[0].key_id}/show`);
  secrets.push(token, minted.key, minted.key.split('.')[1], shown.body.decision_key);
  secrets.push(browser.cookie!.split('=')[1], admin.browser.cookie!.split('=')[1]);
  expectNotLogged(secrets);
});

test('the server logs the name of a violated database constraint and not the values of the row', async () => {
  const { body } = await admin.browser.call('POST', `/workspaces/${workspace}/invitations`, {
    email: 'eve@example.com',
    role: 'viewer',
  });
  await server.database.sql(`ALTER TABLE countersign.people ADD CONSTRAINT no_eve CHECK (email NOT LIKE 'eve@%')`);
  const form = { token: body.path.split('#')[1], name: 'Eve', password: NEW_PASSWORD };
  const { status } = await new Browser(server).call('POST', '/links/accept-invitation', form);
  await server.database.sql('ALTER TABLE countersign.people DROP CONSTRAINT no_eve');
  expect(status).toBe(500);
  expect(lines.join('')).toContain('no_eve');
  expectNotLogged(['$argon2id$', 'eve@example.com', NEW_PASSWORD]);
});
