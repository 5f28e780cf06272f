import type { Attack } from './attack.ts';
import { Random } from './random.ts';
import { RequestFuzzer } from './request-fuzzer.ts';
import { Caller, runConcurrently } from './requests.ts';

const SENDERS = 8;

/** Every request gets a response from the error table. A 500 is a fault. */
export const fuzzedRequests: Attack = {
  what: `${SENDERS} senders of requests made of the OpenAPI document and the portal's routes, with parts of them changed`,
  bounds: { victimP99Ms: 300, memoryMiB: 512 },
  promise: 'no 5xx but 503',
  run: async (target, { seconds, seed }) => {
    const fuzzer = new RequestFuzzer(new Random(seed), target.attacker);
    const statuses = new Map<number, number>();
    const faults: string[] = [];
    const callers = Array.from({ length: SENDERS }, () => new Caller(target));
    await runConcurrently(SENDERS, seconds, async (index) => {
      const request = fuzzer.next();
      const { status } = await callers[index]!.send(request, 30_000);
      callers[index]!.close();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status >= 500 && status !== 503 && faults.length < 5)
        faults.push(`${status} for ${JSON.stringify(request.toString('utf8').slice(0, 1500))}`);
    });
    const sent = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    const refused = [...statuses].reduce((sum, [status, count]) => sum + (status >= 400 ? count : 0), 0);
    const of = (status: number) => statuses.get(status) ?? 0;
    const note = `${sent.toLocaleString('en-US')} requests: ${of(200)} × 200, ${of(503)} × 503, ${of(500)} × 500 (seed ${seed})`;
    return { refused, note, violations: faults };
  },
};
