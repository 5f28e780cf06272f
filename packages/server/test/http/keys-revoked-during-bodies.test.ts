import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { revokeKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, testServer } from '../harness/test-server.ts';

const server = await testServer();
const workspace = await server.workspace();

/** Longer than LATE_BODY_MS_MIN of http/authenticate.ts: if a body arrives so late, the server checks the key again. */
const PAUSE_MS = 1_200;

/** Sends a request without the end of its body, waits, calls `meanwhile`, and sends the rest. Returns the status of the response. */
async function sendLate(path: string, text: string, meanwhile: (prefix: string) => Promise<void>): Promise<number> {
  const key = await server.key(workspace);
  const headers = { 'x-service-key': key, 'content-type': 'application/json', 'content-length': text.length };
  const lateRequest = request(server.url + path, { method: 'POST', headers });
  const status = new Promise<number>((resolve, reject) => {
    lateRequest.on('error', reject).on('response', (response) => resolve(response.resume().statusCode!));
  });
  lateRequest.write(text.slice(0, 3));
  await sleep(PAUSE_MS);
  await meanwhile(key.slice('aa_live_'.length).split('.')[0]!);
  lateRequest.end(text.slice(3));
  return status;
}

const revoke = (prefix: string) => revokeKey(server.open.pool, workspace, prefix, 'operator');
const countEntries = async () => (await server.database.sql('SELECT 1 FROM countersign.audit_entries')).length;

describe.each([
  { path: paths.audit, body: { actor: 'ci', action: 'key.used' }, storedEntries: 1 },
  { path: '/v1/traces', body: { resourceSpans: [] }, storedEntries: 0 },
])('a body for $path that arrives late', ({ path, body, storedEntries }) => {
  test('is rejected if its key was revoked before the rest of the body arrived, and otherwise accepted', async () => {
    const before = await countEntries();
    expect(await sendLate(path, JSON.stringify(body), revoke)).toBe(401);
    expect(await countEntries()).toBe(before);
    expect(await sendLate(path, JSON.stringify(body), async () => undefined)).toBe(200);
    expect(await countEntries()).toBe(before + storedEntries);
  });
});
