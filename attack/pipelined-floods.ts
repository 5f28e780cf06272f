import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, AttackResult } from './attack.ts';
import { type Address, openSocket } from './loopback.ts';
import { httpText } from './requests.ts';
import type { Target } from './target.ts';

const REQUESTS_METRIC = 'countersign_http_requests_total';

/** Selects the responses to requests like those of the flood, except 503. The requests of the victim have endpoints with names. */
const FLOOD_RESPONSES = /^(?=.*endpoint="other")(?!.*status="503")/;

/** Paths that are requested without a credential. */
const PATHS = ['/openapi.json', '/metrics', '/docs', '/readyz', '/.well-known/jwks.json', '/', '/api/portal/session'];

/** Keeps many connections open. Each sends many GETs in one write, reads the responses, and is then replaced. */
async function flood(target: Target, socketCount: number, requestsPerWrite: number, seconds: number): Promise<AttackResult> {
  const endsAt = performance.now() + seconds * 1000;
  let hasResponse = false;
  const sendRepeatedly = async (index: number) => {
    for (let turn = index; performance.now() < endsAt; turn += 1) {
      const text = httpText('GET', PATHS[turn % PATHS.length]!, {});
      const lastText = httpText('GET', '/livez', { Connection: 'close' });
      if (await sendAndReadUntilClosed(target, text.repeat(requestsPerWrite - 1) + lastText, endsAt)) hasResponse = true;
    }
  };
  await Promise.all(Array.from({ length: socketCount }, (_, index) => sendRepeatedly(index)));
  await sleep(1_100); // metrics are up to a second old
  const rejectedRequests = await target.metric(REQUESTS_METRIC, /status="503"/);
  const refusedConnections = await target.metric('countersign_connections_refused_total');
  const responses = await target.metric(REQUESTS_METRIC, FLOOD_RESPONSES);
  return {
    rejected: rejectedRequests + refusedConnections,
    note: `${Math.round(responses / seconds).toLocaleString('en-US')} responses per second`,
    violations: hasResponse ? [] : ['the first request of each connection was rejected or got no response'],
  };
}

/**
 * Sends a text once, and reads until the connection ends or the time is up. Returns whether the first request got a response that is not a
 * 503.
 */
function sendAndReadUntilClosed(target: Address, text: string, endsAt: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = openSocket(target);
    const timeout = setTimeout(() => socket.destroy(), Math.max(1, endsAt - performance.now()));
    let hasResponse = false;
    // The server counts the responses. Parsing them all here would compete with it for the processor.
    socket.once('data', (start: Buffer) => {
      hasResponse = /^HTTP\/1\.1 (?!503)/.test(start.toString('latin1', 0, 12));
      socket.resume();
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timeout);
      // This pause prevents a tight loop if connections are refused.
      sleep(10).then(() => resolve(hasResponse));
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
