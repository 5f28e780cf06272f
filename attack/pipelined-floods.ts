import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, AttackResult } from './attack.ts';
import { type Address, openSocket } from './loopback.ts';
import { httpText } from './requests.ts';
import type { Target } from './target.ts';

const REQUESTS_METRIC = 'countersign_http_requests_total';

/** Paths that are requested without a credential. */
const PATHS = ['/openapi.json', '/metrics', '/docs', '/readyz', '/.well-known/jwks.json', '/', '/api/portal/session'];

/** Keeps many connections open. Each sends many GETs in one write, reads the responses, and is then replaced. */
async function flood(target: Target, socketCount: number, requestsPerWrite: number, seconds: number): Promise<AttackResult> {
  const endsAt = performance.now() + seconds * 1000;
  const sendRepeatedly = async (index: number) => {
    for (let turn = index; performance.now() < endsAt; turn += 1) {
      const text = httpText('GET', PATHS[turn % PATHS.length]!, {});
      await sendUntilClosed(
        target,
        text.repeat(requestsPerWrite - 1) + httpText('GET', '/livez', { Connection: 'close' }),
        endsAt,
      );
    }
  };
  await Promise.all(Array.from({ length: socketCount }, (_, index) => sendRepeatedly(index)));
  await sleep(1_100); // metrics are up to a second old
  const rejectedRequests = await target.metric(REQUESTS_METRIC, /status="503"/);
  const refusedConnections = await target.metric('countersign_connections_refused_total');
  // The metric of requests does not count refused connections, so only the rejected requests are subtracted.
  const responses = (await target.metric(REQUESTS_METRIC)) - rejectedRequests;
  return {
    rejected: rejectedRequests + refusedConnections,
    note: `${Math.round(responses / seconds).toLocaleString('en-US')} responses per second`,
    violations: responses > 0 ? [] : ['every request was rejected or got no response'],
  };
}

/** Sends a text once, and reads until the connection ends or the time is up. */
function sendUntilClosed(target: Address, text: string, endsAt: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = openSocket(target);
    const timeout = setTimeout(() => socket.destroy(), Math.max(1, endsAt - performance.now()));
    socket.resume(); // the server counts the responses; parsing them here would compete with it for the processor
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timeout);
      // This pause prevents a tight loop if connections are refused.
      sleep(10).then(resolve);
    });
    socket.write(text);
  });
}

/** Few connections that each send many requests. */
export const pipelinedFlood: Attack = {
  description: '20 connections, each with 1,700 GETs without a credential in one write',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: (target, { seconds }) => flood(target, 20, 1_700, seconds),
};

/** Many connections that each send few requests. */
export const manyConnections: Attack = {
  description: '512 connections, each with 64 GETs without a credential in one write',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: (target, { seconds }) => flood(target, 512, 64, seconds),
};
