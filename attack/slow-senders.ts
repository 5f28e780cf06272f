import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, AttackResult } from './attack.ts';
import { type Address, openSocket } from './loopback.ts';
import { httpText } from './requests.ts';

/** Connections opened per step. If all were opened at once, the attack would measure how fast the server accepts connections. */
const OPENED_PER_STEP = 10;

/** Keeps a number of connections open, and replaces each connection that ends. Returns how many were opened, ended and rejected. */
async function holdConnections(
  target: Address,
  count: number,
  seconds: number,
  open: (address: Address) => ReturnType<typeof openSocket>,
) {
  let [opened, ended, rejected] = [0, 0, 0];
  const sockets = new Set<ReturnType<typeof openSocket>>();
  const endsAt = performance.now() + seconds * 1000;
  while (performance.now() < endsAt) {
    for (let step = 0; sockets.size < count && step < OPENED_PER_STEP; step += 1) {
      const socket = open(target);
      opened += 1;
      sockets.add(socket);
      socket.on('data', (bytes: Buffer) => {
        if (bytes.toString('latin1', 0, 20).startsWith('HTTP/1.1 4') || bytes.includes('HTTP/1.1 503')) rejected += 1;
      });
      socket.on('close', () => {
        ended += 1;
        sockets.delete(socket);
      });
    }
    await sleep(10);
  }
  for (const socket of sockets) socket.destroy();
  return { opened, ended, rejected };
}

const resultOf = ({ opened, ended, rejected }: { opened: number; ended: number; rejected: number }): AttackResult => ({
  rejected,
  note: `${opened.toLocaleString('en-US')} connections, ${ended.toLocaleString('en-US')} ended`,
  violations: [],
});

/** Senders that begin a request and send the rest one byte every 200 ms. */
export const slowSenders: Attack = {
  description: '500 connections that send a byte of a head or of a body every 200 ms',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: async (target, { seconds }) => {
    let turn = 0;
    return resultOf(
      await holdConnections(target, 500, seconds, (address) => {
        const socket = openSocket(address);
        const { key } = target.attacker;
        const head = httpText('POST', '/api/public/audit', {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          'Content-Length': 500,
        });
        // Half of the connections are slow with the head, the other half with the body.
        turn += 1;
        socket.write(turn % 2 === 0 ? head : head.slice(0, 40));
        const byteTimer = setInterval(() => socket.write('x'), 200);
        socket.on('close', () => clearInterval(byteTimer));
        return socket;
      }),
    );
  },
};

/** Clients that send whole or partial requests or nothing, close their side of the connection, and wait. */
export const halfOpenSockets: Attack = {
  description:
    '500 connections that send nothing, part of a request, a whole one, or a whole one and part of the next, and then close their side',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: async (target, { seconds }) => {
    const whole = httpText('GET', '/livez', {});
    const texts = ['', whole, whole.slice(0, 20), whole + whole.slice(0, 10)];
    let turn = 0;
    return resultOf(
      await holdConnections(target, 500, seconds, (address) => {
        turn += 1;
        const socket = openSocket(address);
        socket.end(texts[turn % texts.length]!);
        return socket;
      }),
    );
  },
};

/** Heads below and above Node's size limit of 16 KiB. */
export const headerFlood: Attack = {
  description: '200 connections with heads of 15 KB, 20 KB, and of 900 and 5,000 headers',
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  run: async (target, { seconds }) => {
    const headWithHeaders = (count: number) =>
      `GET /livez HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(count)}Connection: close\r\n\r\n`;
    const headWithLongHeader = (bytes: number) => httpText('GET', '/livez', { 'X-Long': 'x'.repeat(bytes), Connection: 'close' });
    const texts = [headWithLongHeader(15_000), headWithLongHeader(20_000), headWithHeaders(900), headWithHeaders(5_000)];
    let turn = 0;
    return resultOf(
      await holdConnections(target, 200, seconds, (address) => {
        turn += 1;
        const socket = openSocket(address);
        socket.write(texts[turn % texts.length]!);
        socket.on('end', () => socket.end());
        return socket;
      }),
    );
  },
};
