import { gzipSync } from 'node:zlib';
import type { Attack } from './attack.ts';
import { Caller, postRequest, runConcurrently } from './requests.ts';

const GZIP = { 'Content-Encoding': 'gzip' };

/** Small bodies that take a long time to parse. */
const BODIES: readonly [body: Buffer, headers: Record<string, string>][] = [
  [gzipSync(`{"events":[${'{},'.repeat(6_000_000)}{}]}`), GZIP],
  [gzipSync(`{${Array.from({ length: 1_800_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`), GZIP],
  [gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20)), GZIP],
  [Buffer.from(`{${Array.from({ length: 1_000_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`), {}],
  [Buffer.from('['.repeat(10_000_000)), {}],
];

/** An 18 KB body once blocked all other requests for 1.4 seconds. */
export const compressedBodies: Attack = {
  what: '4 senders of 6 million objects, 1.8 million member names, 200 MB of spaces and deep nesting, mostly compressed',
  bounds: { victimSlowestMs: 300, memoryMiB: 1024 },
  promise: 'each is refused',
  run: async (target, { seconds }) => {
    const statuses = new Map<number, number>();
    const requests = BODIES.flatMap(([body, headers]) =>
      ['/api/public/telemetry', '/api/public/traces', '/api/public/audit'].map((path) =>
        postRequest(path, target.attacker.key, body, headers),
      ),
    );
    const callers = Array.from({ length: 4 }, () => new Caller(target));
    let turn = 0;
    await runConcurrently(callers.length, seconds, async (index) => {
      turn += 1;
      const { status } = await callers[index]!.send(requests[turn % requests.length]!);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
    for (const caller of callers) caller.close();
    const counted = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    const accepted = [...statuses.keys()].filter((status) => status === 200 || status === 500);
    return { refused: turn, note: counted, violations: accepted.map((status) => `a body got status ${status}`) };
  },
};
