import { type FilledWorkspace, storeOneOfEach } from '../packages/server/test/fixtures/one-of-each.ts';
import type { Attack } from './attack.ts';
import { Random } from './random.ts';
import { type FuzzSubject, RequestFuzzer } from './request-fuzzer.ts';
import { Caller, runConcurrently } from './requests.ts';
import type { Target } from './target.ts';
import { createSessions } from './workspaces.ts';

const SENDERS = 8;
/** Sessions for the fuzzed requests that end their session or reduce its rights. */
const SPARE_SESSIONS = 40;
/** At most this many unexpected responses are shown. */
const UNEXPECTED_RESPONSES_MAX = 5;

const subjects = new WeakMap<Target, FuzzSubject>();

/** Stores a record of each kind in the attacker's workspace. Requests refer to these records. Also creates sessions. */
async function prepare(target: Target): Promise<void> {
  const { attacker, folder, url } = target;
  const filled: FilledWorkspace = { url, ...attacker };
  const spareCookies = await createSessions(folder, url, attacker.tenantId, 'viewer', SPARE_SESSIONS);
  const values = await storeOneOfEach(filled, 'fuzzed');
  subjects.set(target, { ...attacker, values, spareCookies, readToken: values.read_token! });
}

/** Counts the responses to fuzzed requests. */
export class FuzzTally {
  /** The number of responses by status. Status 0: no response. */
  readonly countsByStatus = new Map<number, number>();
  /** The routes that accepted a request. */
  readonly acceptingRoutes = new Set<string>();
  /** The first requests without a response, or with a 5xx other than 503. */
  readonly unexpectedResponses: string[] = [];

  add(route: string, status: number, request: Buffer): void {
    this.countsByStatus.set(status, (this.countsByStatus.get(status) ?? 0) + 1);
    if (status >= 200 && status < 300) this.acceptingRoutes.add(route);
    const isUnexpected = status === 0 || (status >= 500 && status !== 503);
    if (isUnexpected && this.unexpectedResponses.length < UNEXPECTED_RESPONSES_MAX)
      this.unexpectedResponses.push(
        `${status === 0 ? 'no response' : status} for ${JSON.stringify(request.toString('utf8').slice(0, 1500))}`,
      );
  }

  /** The number of responses whose status is in this range. */
  count(from: number, to = from): number {
    return [...this.countsByStatus].reduce((sum, [status, count]) => sum + (status >= from && status <= to ? count : 0), 0);
  }
}

/** Valid and mutated requests to random routes. Each must get a response, and no 5xx other than 503. */
export const fuzzedRequests: Attack = {
  description: `${SENDERS} senders of valid and mutated requests, generated from the OpenAPI document and the portal's routes`,
  bounds: { victimP99Ms: 300, memoryMiB: 512 },
  promise: 'a response to each request, and no 5xx except 503',
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
      tally.add(route, status, bytes);
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
      `${tally.acceptingRoutes.size} of ${fuzzer.routes.length} routes accepted a request (seed ${seed})`,
    ].join('; ');
    return { rejected: tally.count(400, 599), note, violations: tally.unexpectedResponses };
  },
};
