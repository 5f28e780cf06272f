import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { percentile } from '../attack/attack.ts';
import { Caller, type CallResult, postRequest } from '../attack/requests.ts';
import type { Kind } from '../attack/victim.ts';
import { auditBody, traceBody } from '../bench/bodies.ts';
import { ID_PLACEHOLDER } from '../bench/load.ts';
import type { LoadPhase, LoadReport, LoadTarget } from './load.ts';

const { servers, key } = workerData as LoadTarget;
const TICK_MS = 5;
const RESPONSE_TIMEOUT_MS = 60_000;

const TEMPLATES: readonly { kind: Kind; path: string; body: string }[] = [
  { kind: 'traces', path: '/api/public/traces', body: traceBody() },
  { kind: 'audit', path: '/api/public/audit', body: auditBody() },
  {
    kind: 'telemetry',
    path: '/api/public/telemetry',
    body: JSON.stringify({ trace_id: `run-${ID_PLACEHOLDER}`, outcome: 'success', agent_name: 'support-bot', model: 'gpt-4o' }),
  },
  {
    kind: 'evaluations',
    path: '/api/public/evaluations',
    body: JSON.stringify({ name: `run-${ID_PLACEHOLDER}`, agent_name: 'support-bot', pass_rate: 90 }),
  },
];

let lastId = 0;
const idleCallers: Caller[] = [];
let connectionCount = 0;

/** The next request of the mix. */
function nextRequest(): { kind: Kind; marker: string; request: Buffer } {
  lastId += 1;
  const { kind, path, body } = TEMPLATES[lastId % TEMPLATES.length]!;
  const id = String(lastId).padStart(ID_PLACEHOLDER.length, '0');
  return { kind, marker: `run-${id}`, request: postRequest(path, key, body.replaceAll(ID_PLACEHOLDER, id)) };
}

/** Returns an idle connection, or a new one. Undefined: the maximum is in use. */
function takeCaller(connectionsMax: number): Caller | undefined {
  const idleCaller = idleCallers.pop();
  if (idleCaller !== undefined || connectionCount >= connectionsMax) return idleCaller;
  connectionCount += 1;
  return new Caller(servers[connectionCount % servers.length]!);
}

/** Collects the observations of a phase. */
class PhaseLog {
  readonly #startedAt = performance.now();
  readonly #latencies: number[][];
  readonly #rejected: number[];
  readonly report: LoadReport = { seconds: [], acknowledged: [], withoutResponse: 0, notSent: 0, unexpectedResponses: [] };

  constructor(seconds: number) {
    this.#latencies = Array.from({ length: seconds }, () => []);
    this.#rejected = Array<number>(seconds).fill(0);
  }

  get elapsedSeconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  note(kind: Kind, marker: string, { status, ms, retryAfterSeconds }: CallResult): void {
    const second = Math.min(this.#rejected.length - 1, Math.floor(this.elapsedSeconds));
    if (status === 200) {
      this.#latencies[second]!.push(ms);
      this.report.acknowledged.push({ kind, marker });
    } else if (status === 503 || status === 429) {
      this.#rejected[second]! += 1;
      if (!(retryAfterSeconds > 0)) this.#addUnexpected(`${kind} got status ${status} without Retry-After`);
    } else if (status === 0) this.report.withoutResponse += 1;
    else this.#addUnexpected(`${kind} got status ${status}`);
  }

  finish(): LoadReport {
    this.report.seconds = this.#latencies.map((latencies, second) => ({
      acknowledged: latencies.length,
      rejected: this.#rejected[second]!,
      p99Ms: percentile(latencies, 0.99),
    }));
    return this.report;
  }

  #addUnexpected(response: string): void {
    const { unexpectedResponses } = this.report;
    if (!unexpectedResponses.includes(response)) unexpectedResponses.push(response);
  }
}

async function sendOne(caller: Caller, log: PhaseLog): Promise<void> {
  const { kind, marker, request } = nextRequest();
  log.note(kind, marker, await caller.send(request, RESPONSE_TIMEOUT_MS));
  idleCallers.push(caller);
}

/** Sends at a fixed rate, without waiting for responses. */
async function sendAtRate(perSecond: number, { seconds, connectionsMax }: LoadPhase, log: PhaseLog): Promise<void> {
  const pending = new Set<Promise<void>>();
  let requestsDue = 0;
  while (log.elapsedSeconds < seconds) {
    for (; requestsDue < log.elapsedSeconds * perSecond; requestsDue += 1) {
      const caller = takeCaller(connectionsMax);
      if (caller === undefined) {
        log.report.notSent += 1;
        continue;
      }
      const sending = sendOne(caller, log).finally(() => pending.delete(sending));
      pending.add(sending);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(pending);
}

/** Sends without pause on each connection. */
async function sendWithoutPause({ seconds, connectionsMax }: LoadPhase, log: PhaseLog): Promise<void> {
  const sendUntilEnd = async () => {
    while (log.elapsedSeconds < seconds) await sendOne(takeCaller(connectionsMax)!, log);
  };
  await Promise.all(Array.from({ length: connectionsMax }, sendUntilEnd));
}

parentPort!.on('message', async (phase: LoadPhase) => {
  const log = new PhaseLog(phase.seconds);
  if (phase.perSecond === undefined) await sendWithoutPause(phase, log);
  else await sendAtRate(phase.perSecond, phase, log);
  parentPort!.postMessage(log.finish());
});
