import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { httpText } from '../bad-input/raw-socket.ts';
import { paths, testServer } from '../harness/test-server.ts';

test('when a client disconnects, the server frees the memory of its unsent responses', async () => {
  const server = await testServer();
  const tenantId = await server.workspace();
  const key = await server.key(tenantId);
  const token = await mintKey(server.open.pool, tenantId, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
  const entry = { actor: 'ci', action: 'test.given-up', metadata: { text: 'x'.repeat(900_000) } };
  for (let stored = 0; stored < 3; stored += 1) expect((await server.post(paths.audit, key, entry)).status).toBe(200);

  const request = httpText('GET /api/ledger/audit/entries HTTP/1.1', ['Host: x', `Authorization: Bearer ${token}`]);
  for (const times of [1, 4]) {
    await Promise.all(
      Array.from({ length: 40 }, async (_, number) => {
        const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
        socket.on('error', () => undefined);
        socket.pause();
        socket.write(request.repeat(times));
        await sleep(number * 20);
        socket.destroy();
      }),
    );
  }
  const answeringBytes = async () =>
    /^countersign_answering_bytes (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];
  await expect.poll(answeringBytes).toBe('0');
});
