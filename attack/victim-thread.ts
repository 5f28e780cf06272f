import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Caller, postRequest } from './requests.ts';
import type { Kind, VictimOptions, VictimReport } from './victim.ts';

const { key, senders, kinds, pauseMs, ...address } = workerData as VictimOptions;
const report: VictimReport = { latencies: [], acknowledged: [], rejected: 0, withoutResponse: 0, unexpectedResponses: [] };
let isStopped = false;

const REQUESTS: Record<Kind, (marker: string) => [path: string, body: object]> = {
  audit: (marker) => ['/api/public/audit', { actor: 'victim', action: 'attack.append', trace_id: marker }],
  telemetry: (marker) => ['/api/public/telemetry', { trace_id: marker, outcome: 'success', agent_name: 'victim' }],
  evaluations: (marker) => ['/api/public/evaluations', { name: marker, agent_name: 'victim', pass_rate: 90 }],
  traces: (marker) => [
    '/api/public/traces',
    { trace_id: marker, agent_name: 'victim', spans: [{ span_id: 's', kind: 'llm', name: 'model' }] },
  ],
};

async function sendInTurn(sender: number): Promise<void> {
  const caller = new Caller(address);
  for (let turn = sender; !isStopped; turn += 1) {
    const kind = kinds[turn % kinds.length]!;
    const marker = randomUUID();
    const [path, body] = REQUESTS[kind](marker);
    const { status, ms, retryAfterSeconds } = await caller.send(postRequest(path, key, JSON.stringify(body)));
    if (status === 200) {
      report.latencies.push(ms);
      report.acknowledged.push({ kind, marker });
    } else if (status === 503 || status === 429) {
      report.rejected += 1;
      await sleep(Math.min(1000, retryAfterSeconds * 1000));
    } else if (status === 0) report.withoutResponse += 1;
    else report.unexpectedResponses.push(`${kind} got status ${status}`);
    await sleep(status === 0 ? 50 : pauseMs);
  }
  caller.close();
}

parentPort!.once('message', () => {
  isStopped = true;
});
await Promise.all(Array.from({ length: senders }, (_, sender) => sendInTurn(sender)));
parentPort!.postMessage(report);
