import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, Seen } from './attack.ts';
import { type Address, openSocket } from './loopback.ts';
import { httpText } from './requests.ts';
import type { Target } from './target.ts';

const REQUESTS = 'countersign_http_requests_total';

/** Paths that answer without a credential. */
const PATHS = ['/openapi.json', '/metrics', '/docs', '/readyz', '/.well-known/jwks.json', '/', '/api/portal/session'];

/** Sends many GETs in one write on each of many connections, again and again, and reads the answers. */
async function flood(target: Target, sockets: number, gets: number, seconds: number): Promise<Seen> {
  const endsAt = performance.now() + seconds * 1000;
  const one = async (index: number) => {
    for (let turn = index; performance.now() < endsAt; turn += 1) {
      const text = httpText('GET', PATHS[turn % PATHS.length]!, {});
      await untilClosed(target, text.repeat(gets - 1) + httpText('GET', '/livez', { Connection: 'close' }), endsAt);
    }
  };
  await Promise.all(Array.from({ length: sockets }, (_, index) => one(index)));
  await sleep(1_100); // metrics are up to a second old
  const refused =
    (await target.metric(REQUESTS, /status="503"/)) + (await target.metric('countersign_connections_refused_total'));
  const answered = (await target.metric(REQUESTS)) - refused;
  return {
    refused,
    note: `${Math.round(answered / seconds).toLocaleString('en-US')} answers a second`,
    broken: answered > 0 ? [] : ['nothing was answered'],
  };
}

/** Sends a text and reads until the connection ends or the time is over. */
function untilClosed(target: Address, text: string, endsAt: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = openSocket(target);
    const over = setTimeout(() => socket.destroy(), Math.max(1, endsAt - performance.now()));
    socket.resume(); // the server counts the answers: reading hundreds of megabytes of text here would take its processor
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(over);
      // A connection that is refused at once is tried again, though not in a tight loop.
      sleep(10).then(resolve);
    });
    socket.write(text);
  });
}

/** 1.4 MB of pipelined requests once ended the server. */
export const pipelinedFlood: Attack = {
  what: '20 connections, each with 1,700 GETs in one write, on paths without a credential',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: (target, { seconds }) => flood(target, 20, 1_700, seconds),
};

/** Many connections that each send a little. */
export const manyConnections: Attack = {
  what: '512 connections, each with 64 GETs, on paths without a credential',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: (target, { seconds }) => flood(target, 512, 64, seconds),
};
