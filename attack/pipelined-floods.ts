import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, Seen } from './attack.ts';
import { type Address, openSocket } from './loopback.ts';
import { httpText } from './requests.ts';

/** Paths that answer without a credential. */
const PATHS = ['/openapi.json', '/metrics', '/docs', '/readyz', '/.well-known/jwks.json', '/', '/api/portal/session'];

/** Statuses in the answers of a flood. */
interface Counted {
  answered: number;
  refused: number;
}

/** Sends many GETs in one write on each of many connections, again and again; answers are read and counted. */
async function flood(target: Address, sockets: number, gets: number, seconds: number): Promise<Counted> {
  const counted = { answered: 0, refused: 0 };
  const endsAt = performance.now() + seconds * 1000;
  const one = async (index: number) => {
    for (let turn = index; performance.now() < endsAt; turn += 1) {
      const text = httpText('GET', PATHS[turn % PATHS.length]!, {});
      const closing = httpText('GET', '/livez', { Connection: 'close' });
      await untilClosed(target, text.repeat(gets) + closing, endsAt, counted);
    }
  };
  await Promise.all(Array.from({ length: sockets }, (_, index) => one(index)));
  return counted;
}

/** Sends a text and reads until the connection ends or the time is over. */
function untilClosed(target: Address, text: string, endsAt: number, counted: Counted): Promise<void> {
  return new Promise((resolve) => {
    const socket = openSocket(target);
    const over = setTimeout(() => socket.destroy(), Math.max(1, endsAt - performance.now()));
    socket.setEncoding('latin1').on('data', (piece: string) => {
      for (const [, status] of piece.matchAll(/HTTP\/1\.1 (\d)\d\d /g)) counted[status === '5' ? 'refused' : 'answered'] += 1;
    });
    socket
      .on('end', () => socket.end())
      .on('close', () => {
        clearTimeout(over);
        // A connection that is refused at once is tried again, though not in a tight loop.
        sleep(10).then(resolve);
      });
    socket.write(text);
  });
}

const seenOf = ({ answered, refused }: Counted, seconds: number): Seen => ({
  refused,
  note: `${Math.round(answered / seconds).toLocaleString('en-US')} answers a second`,
  broken: answered === 0 ? ['nothing was answered'] : [],
});

/** 1.4 MB of pipelined requests once ended the server. */
export const pipelinedFlood: Attack = {
  what: '20 connections, each with 1,700 GETs in one write, on paths without a credential',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: async (target, { seconds }) => seenOf(await flood(target, 20, 1_700, seconds), seconds),
};

/** Many connections that each send a little. */
export const manyConnections: Attack = {
  what: '512 connections with GETs on paths without a credential',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: async (target, { seconds }) => seenOf(await flood(target, 512, 8, seconds), seconds),
};
