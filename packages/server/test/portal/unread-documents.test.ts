import { connect, type Socket } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { httpText } from '../bad-input/raw-socket.ts';
import { portalClient } from '../harness/portal-client.ts';
import { paths, testServer } from '../harness/test-server.ts';

const MIB = 1024 * 1024;
const ANSWERING_BYTES = 64 * MIB;
const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

test('while 60 clients do not read a 19 MB download, response memory stays within its limit and another session is served', async () => {
  const server = await testServer({ answeringBytesMax: ANSWERING_BYTES, sendTimeoutSeconds: 2 });
  const [workspace, otherWorkspace] = [await server.workspace(), await server.workspace()];
  const spans = Array.from({ length: 500 }, (_, at) => ({ span_id: `${at}`, kind: 'llm', name: 'm', input: 'x'.repeat(38_000) }));
  const stored = await server.post(paths.traces, await server.key(workspace), { trace_id: 'large', spans });
  expect(stored.status).toBe(200);
  const viewer = await portalClient(server, workspace, 'viewer');
  const otherViewer = await portalClient(server, otherWorkspace, 'viewer');
  const documentPath = `/api/portal/workspaces/${workspace}/runs/traces/${stored.body.id}/submissions/1`;

  const request = httpText(`GET ${documentPath} HTTP/1.1`, ['Host: x', `Cookie: ${viewer.browser.cookie}`]);
  for (let number = 0; number < 60; number += 1) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(request));
    socket.on('error', () => undefined).pause();
    sockets.push(socket);
  }
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);
  await expect.poll(() => metric('countersign_answering_bytes'), { timeout: 20_000 }).toBeGreaterThan(18 * MIB);
  for (let turn = 0; turn < 5; turn += 1) {
    expect(await metric('countersign_answering_bytes')).toBeLessThanOrEqual(ANSWERING_BYTES);
    expect((await otherViewer.callRoute('runs.list')).status).toBe(200);
  }
  await expect.poll(() => metric('countersign_connections_stalled_total'), { timeout: 30_000 }).toBeGreaterThan(1);
  await expect.poll(() => metric('countersign_answering_bytes'), { timeout: 30_000 }).toBe(0);
  for (const socket of sockets) socket.destroy();
  const file = await fetch(server.url + documentPath, { headers: { cookie: viewer.browser.cookie! } });
  expect(file.status).toBe(200);
  expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(18 * MIB);
});
