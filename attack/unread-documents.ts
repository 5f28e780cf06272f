import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { openSocket } from './loopback.ts';
import { Caller, httpText, postRequest } from './requests.ts';
import type { Target } from './target.ts';

const MIB = 1024 * 1024;
const SOCKETS = 300;
const SEND_TIMEOUT_SECONDS = 5;

/**
 * How long responses may stay in memory after the attack. The limit is longer than one send timeout, because a queued request gets its
 * response later, with its own timeout.
 */
const HELD_SECONDS_MAX = 60;
/** The metric that counts the bytes of responses in memory. */
const HELD_BYTES_METRIC = 'countersign_answering_bytes';

/** The path of the stored document of about 19 MiB, by target. */
const documentPaths = new WeakMap<Target, string>();

async function storeDocument(target: Target): Promise<void> {
  const spans = Array.from({ length: 19 }, (_, index) => ({
    span_id: `s${index}`,
    kind: 'llm',
    name: 'model',
    attributes: { text: 'x'.repeat(MIB - 200) },
  }));
  const body = JSON.stringify({ trace_id: 'large', agent_name: 'attacker', spans });
  const caller = new Caller(target);
  const { status } = await caller.send(postRequest('/api/public/traces', target.attacker.key, body));
  caller.close();
  if (status !== 200) throw new Error(`the large document got status ${status}`);
  const [trace] = await target.query<{ id: string }>('SELECT id FROM countersign.traces WHERE tenant_id = $1', [
    target.attacker.tenantId,
  ]);
  documentPaths.set(target, `/api/portal/workspaces/${target.attacker.tenantId}/runs/traces/${trace!.id}/submissions/1`);
}

/** Clients that request a document and never read the response. The server must not keep all responses in memory. */
export const unreadDocuments: Attack = {
  description: '300 connections that request a document of 19 MiB in the portal and do not read it',
  bounds: { victimP99Ms: 300, memoryMiB: 1024 },
  promise: `no response is held in memory ${HELD_SECONDS_MAX} s after the attack (send timeout ${SEND_TIMEOUT_SECONDS} s)`,
  settings: { COUNTERSIGN_SEND_TIMEOUT_SECONDS: String(SEND_TIMEOUT_SECONDS) },
  prepare: storeDocument,
  run: async (target, { seconds }) => {
    const request = httpText('GET', documentPaths.get(target)!, { Cookie: target.attacker.cookie });
    const sockets = Array.from({ length: SOCKETS }, () => {
      const socket = openSocket(target);
      // Without a data listener or resume(), the socket reads nothing.
      socket.write(request);
      return socket;
    });
    await sleep(seconds * 1000);
    const stoppedAt = performance.now();
    let heldBytes = await target.metric(HELD_BYTES_METRIC);
    while (heldBytes > 0 && performance.now() - stoppedAt < HELD_SECONDS_MAX * 1000) {
      await sleep(1_000);
      heldBytes = await target.metric(HELD_BYTES_METRIC);
    }
    const waitedSeconds = (performance.now() - stoppedAt) / 1000;
    const stalled = await target.metric('countersign_connections_stalled_total');
    const rejected = await target.metric('countersign_http_requests_total', /status="503"/);
    for (const socket of sockets) socket.destroy();
    const held = `${heldBytes} bytes held in memory ${waitedSeconds.toFixed(0)} s after the attack`;
    const note = `${stalled} connections ended because they did not read, ${held}`;
    return { rejected, note, violations: heldBytes === 0 ? [] : [`${heldBytes} bytes of responses are still held`] };
  },
};
