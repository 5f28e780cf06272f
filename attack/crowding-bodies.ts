import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { Caller, postRequest, runConcurrently } from './requests.ts';
import type { Target } from './target.ts';

const SENDERS = 512;
/** The rate with senders that ignore Retry-After must be at least this share of the rate with senders that honor it. */
const SHARE_MIN = 0.5;

const bodyOf = (id: string): string => {
  const spans = Array.from({ length: 200 }, (_, index) => ({
    span_id: `${id}-${index}`,
    kind: 'tool',
    name: 'call',
    attributes: { text: 'x'.repeat(1300) },
  }));
  return JSON.stringify({ trace_id: id, agent_name: 'attacker', spans });
};

/**
 * Sends traces from all senders. Returns the rate of stored traces, and the number of requests that did not get status 200.
 * @param honorsRetryAfter whether a sender waits after a rejection as long as Retry-After says, at least 1 s. Otherwise it waits 1 ms.
 */
async function sendTraces(
  target: Target,
  seconds: number,
  honorsRetryAfter: boolean,
): Promise<{ perSecond: number; rejected: number }> {
  let [stored, rejected, next] = [0, 0, 0];
  const callers = Array.from({ length: SENDERS }, () => new Caller(target));
  const body = bodyOf('@'.repeat(12));
  const startedAt = performance.now();
  await runConcurrently(SENDERS, seconds, async (index) => {
    next += 1;
    const id = `${honorsRetryAfter ? 'h' : 'i'}${String(next).padStart(11, '0')}`;
    const request = postRequest('/api/public/traces', target.attacker.key, body.replaceAll('@'.repeat(12), id));
    const { status, retryAfterSeconds } = await callers[index]!.send(request);
    if (status === 200) {
      stored += 1;
      return;
    }
    rejected += 1;
    await sleep(honorsRetryAfter ? Math.max(1, retryAfterSeconds) * 1000 : 1);
  });
  for (const caller of callers) caller.close();
  return { perSecond: (1000 * stored) / (performance.now() - startedAt), rejected };
}

/**
 * Sends more bodies at once than the server keeps in memory. Senders that ignore Retry-After must not reduce the rate of stored traces by
 * more than half.
 */
export const crowdingBodies: Attack = {
  description: '512 senders that send traces of 282 KB and ignore Retry-After',
  bounds: { memoryMiB: 1024 },
  promise: `stores at least ${SHARE_MIN * 100} % as many traces per second as with senders that honor Retry-After`,
  run: async (target, { seconds }) => {
    const honoring = await sendTraces(target, seconds, true);
    const ignoring = await sendTraces(target, seconds, false);
    const [ignoringRate, honoringRate] = [ignoring, honoring].map(({ perSecond }) => perSecond.toFixed(0));
    const note = `${ignoringRate} stored per second, and ${honoringRate} with senders that honor Retry-After`;
    return { rejected: ignoring.rejected, note, violations: violationsOf(honoring.perSecond, ignoring.perSecond) };
  },
};

function violationsOf(honoringPerSecond: number, ignoringPerSecond: number): string[] {
  if (honoringPerSecond === 0) return ['nothing was stored from senders that honor Retry-After'];
  const share = ignoringPerSecond / honoringPerSecond;
  return share >= SHARE_MIN
    ? []
    : [`stored only ${(100 * share).toFixed(0)} % as many traces per second as with senders that honor Retry-After`];
}
