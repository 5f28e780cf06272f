import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { openSocket } from './loopback.ts';
import { Caller, httpText, posting } from './requests.ts';
import type { Target } from './target.ts';

const MIB = 1024 * 1024;
const SOCKETS = 300;
const SEND_TIMEOUT_SECONDS = 5;

/** Those who wait for a turn get theirs before nothing is held. */
const HELD_SECONDS_MAX = 60;
const HELD = 'countersign_answering_bytes';

/** The address of a stored document of about 19 MB. */
const documents = new WeakMap<Target, string>();

async function storeDocument(target: Target): Promise<void> {
  const spans = Array.from({ length: 19 }, (_, index) => ({
    span_id: `s${index}`,
    kind: 'llm',
    name: 'model',
    attributes: { text: 'x'.repeat(MIB - 200) },
  }));
  const body = JSON.stringify({ trace_id: 'large', agent_name: 'attacker', spans });
  const caller = new Caller(target);
  const { status } = await caller.send(posting('/api/public/traces', target.attacker.key, body));
  caller.close();
  if (status !== 200) throw new Error(`the large document was answered ${status}`);
  const [trace] = await target.query<{ id: string }>('SELECT id FROM countersign.traces WHERE tenant_id = $1', [
    target.attacker.tenantId,
  ]);
  documents.set(target, `/api/portal/workspaces/${target.attacker.tenantId}/runs/traces/${trace!.id}/submissions/1`);
}

/** 300 peers that ask for a large document and never read held 6.5 GB for ever. */
export const unreadDocuments: Attack = {
  what: '300 connections that ask for a document of 19 MB in the portal and do not read',
  bounds: { victimP99Ms: 300, memoryMiB: 1024 },
  promise: `nothing is held ${HELD_SECONDS_MAX} s later (timeout ${SEND_TIMEOUT_SECONDS} s)`,
  settings: { COUNTERSIGN_SEND_TIMEOUT_SECONDS: String(SEND_TIMEOUT_SECONDS) },
  prepare: storeDocument,
  run: async (target, { seconds }) => {
    const request = httpText('GET', documents.get(target)!, { Cookie: target.attacker.cookie });
    const sockets = Array.from({ length: SOCKETS }, () => {
      const socket = openSocket(target);
      // Nothing is read: no listener for data, and no resume.
      socket.write(request);
      return socket;
    });
    await sleep(seconds * 1000);
    const stoppedAt = performance.now();
    let held = await target.metric(HELD);
    while (held > 0 && performance.now() - stoppedAt < HELD_SECONDS_MAX * 1000) {
      await sleep(1_000);
      held = await target.metric(HELD);
    }
    const waited = (performance.now() - stoppedAt) / 1000;
    const stalled = await target.metric('countersign_connections_stalled_total');
    const refused = await target.metric('countersign_http_requests_total', /status="503"/);
    for (const socket of sockets) socket.destroy();
    const note = `${stalled} connections ended because they did not read, nothing held ${waited.toFixed(0)} s later`;
    return { refused, note, broken: held === 0 ? [] : [`${held} bytes of responses are still held`] };
  },
};
