import { type FilledWorkspace, oneOfEach } from '../packages/server/test/fixtures/one-of-each.ts';
import type { Attack } from './attack.ts';
import { Random } from './random.ts';
import { type FuzzSubject, RequestFuzzer } from './request-fuzzer.ts';
import { Caller, runConcurrently } from './requests.ts';
import { signInNew } from './stored-records.ts';
import type { Target } from './target.ts';

const SENDERS = 8;
const SPARE_SESSIONS = 40;

const subjects = new WeakMap<Target, FuzzSubject>();

/** Stores a record of each kind in the attacker's workspace, so that requests can name it. */
async function prepare(target: Target): Promise<void> {
  const { attacker, folder, url } = target;
  const filled: FilledWorkspace = { url, ...attacker };
  const spareCookies = await signInNew(folder, url, attacker.tenantId, 'viewer', SPARE_SESSIONS);
  const values = await oneOfEach(filled, 'fuzzed');
  subjects.set(target, { ...attacker, values, spareCookies, readToken: values.read_token! });
}

/** The statuses of the responses, the routes that accepted a request, and the requests with a forbidden status. */
export class FuzzTally {
  readonly statuses = new Map<number, number>();
  readonly accepting = new Set<string>();
  readonly faults: string[] = [];

  note(route: string, status: number, request: Buffer): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (status >= 200 && status < 300) this.accepting.add(route);
    if (status >= 500 && status !== 503 && this.faults.length < 5)
      this.faults.push(`${status} for ${JSON.stringify(request.toString('utf8').slice(0, 1500))}`);
  }

  /** The number of responses whose status is in this range. */
  count(from: number, to = from): number {
    return [...this.statuses].reduce((sum, [status, count]) => sum + (status >= from && status <= to ? count : 0), 0);
  }
}

/** Every request gets a response from the error table. A 500 is a fault. */
export const fuzzedRequests: Attack = {
  what: `${SENDERS} senders of requests made of the OpenAPI document and the portal's routes, with parts of them changed`,
  bounds: { victimP99Ms: 300, memoryMiB: 512 },
  promise: 'no 5xx but 503',
  prepare,
  run: async (target, { seconds, seed, requests }) => {
    const fuzzer = new RequestFuzzer(new Random(seed), subjects.get(target)!);
    const tally = new FuzzTally();
    let sent = 0;
    const callers = Array.from({ length: SENDERS }, () => new Caller(target));
    const sendNext = async (index: number) => {
      sent += 1;
      const { route, bytes } = fuzzer.next();
      const { status } = await callers[index]!.send(bytes, 30_000);
      callers[index]!.close();
      tally.note(route, status, bytes);
    };
    if (requests === undefined) await runConcurrently(SENDERS, seconds, sendNext);
    else
      await Promise.all(
        callers.map(async (_, index) => {
          while (sent < requests) await sendNext(index);
        }),
      );
    const note = [
      `${sent.toLocaleString('en-US')} requests: ${tally.count(200, 299)} × 2xx, ${tally.count(503)} × 503, ${tally.count(500)} × 500`,
      `${tally.accepting.size} of ${fuzzer.routes.length} routes accepted one (seed ${seed})`,
    ].join('; ');
    return { refused: tally.count(400, 599), note, violations: tally.faults };
  },
};
