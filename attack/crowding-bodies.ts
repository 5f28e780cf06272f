import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { Caller, loop, posting } from './requests.ts';
import type { Target } from './target.ts';

const SENDERS = 512;
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

/** Traces stored a second, and refusals, by senders that wait as they are told or do not. */
async function send(target: Target, seconds: number, isPatient: boolean): Promise<{ perSecond: number; refused: number }> {
  let [stored, refused, next] = [0, 0, 0];
  const callers = Array.from({ length: SENDERS }, () => new Caller(target));
  const body = bodyOf('@'.repeat(12));
  const begun = performance.now();
  await loop(SENDERS, seconds, async (index) => {
    next += 1;
    const id = `${isPatient ? 'p' : 'r'}${String(next).padStart(11, '0')}`;
    const request = posting('/api/public/traces', target.attacker.key, body.replaceAll('@'.repeat(12), id));
    const { status, retryAfterSeconds } = await callers[index]!.send(request);
    if (status === 200) {
      stored += 1;
      return;
    }
    refused += 1;
    await sleep(isPatient ? Math.max(1, retryAfterSeconds) * 1000 : 1);
  });
  for (const caller of callers) caller.close();
  return { perSecond: (1000 * stored) / (performance.now() - begun), refused };
}

/** Senders that ignore Retry-After once crowded each other out: 12.9 stored a second instead of 283. */
export const crowdingBodies: Attack = {
  what: '512 senders of 282 KB that ignore Retry-After',
  bounds: { memoryMiB: 1024 },
  promise: `at least ${SHARE_MIN * 100} % of what is stored when they honour it`,
  run: async (target, { seconds }) => {
    const patient = await send(target, seconds, true);
    const rude = await send(target, seconds, false);
    const share = rude.perSecond / patient.perSecond;
    const note = `${rude.perSecond.toFixed(0)} stored a second, ${patient.perSecond.toFixed(0)} when they wait`;
    // Written so that a share that is no number, because nothing was stored, does not hold either.
    return { refused: rude.refused, note, broken: share >= SHARE_MIN ? [] : [`only ${(100 * share).toFixed(0)} % are stored`] };
  },
};
