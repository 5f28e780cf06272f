import { gzipSync } from 'node:zlib';
import type { Attack } from './attack.ts';
import { Caller, postRequest, runConcurrently } from './requests.ts';

const GZIP = { 'Content-Encoding': 'gzip' };

/** Makes bodies that are costly to decompress or parse. */
const makeBodies = (): [body: Buffer, headers: Record<string, string>][] => [
  [gzipSync(`{"events":[${'{},'.repeat(6_000_000)}{}]}`), GZIP],
  [gzipSync(`{${Array.from({ length: 1_800_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`), GZIP],
  [gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20)), GZIP],
  [Buffer.from(`{${Array.from({ length: 1_000_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`), {}],
  [Buffer.from('['.repeat(10_000_000)), {}],
];

/** Sends bodies that are costly to decompress or parse. They must not delay other senders. */
export const costlyBodies: Attack = {
  description:
    '4 senders of five costly bodies: 6 million objects, 1.8 million and 1 million member names, 200 MiB of spaces, deep nesting',
  bounds: { victimSlowestMs: 300, memoryMiB: 1024 },
  promise: 'each body is rejected, or gets no response',
  run: async (target, { seconds }) => {
    const statuses = new Map<number, number>();
    const requests = makeBodies().flatMap(([body, headers]) =>
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
    const note = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    const isRejection = (status: number) => (status >= 400 && status < 500) || status === 503;
    const rejected = [...statuses].reduce((sum, [status, count]) => sum + (isRejection(status) ? count : 0), 0);
    // Status 0: no response, for example because the server closed the connection while the body was still being sent.
    const unexpected = [...statuses.keys()].filter((status) => status !== 0 && !isRejection(status));
    return { rejected, note, violations: unexpected.map((status) => `a body got status ${status}`) };
  },
};
