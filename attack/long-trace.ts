import { type Attack, percentile } from './attack.ts';
import { Caller, postRequest } from './requests.ts';

const SUBMISSIONS_MAX = 1_000;
const SPANS = 500;
const SAMPLE_SIZE = 20;
const SLOWDOWN_MAX = 2;

const bodyOf = (number: number): string => {
  const spans = Array.from({ length: SPANS }, (_, index) => ({ span_id: `s${number}-${index}`, kind: 'llm', name: 'model' }));
  return JSON.stringify({ trace_id: 'long', agent_name: 'attacker', spans });
};

/** Sends one trace in many submissions. The time of a submission must not grow with the length of its trace. */
export const longTrace: Attack = {
  description: `one trace in up to ${SUBMISSIONS_MAX.toLocaleString('en-US')} submissions of ${SPANS} spans`,
  bounds: { victimP99Ms: 150, memoryMiB: 512 },
  promise: `the last submissions take at most ${SLOWDOWN_MAX} times as long as the first`,
  run: async (target, { seconds }) => {
    const caller = new Caller(target);
    const latencies: number[] = [];
    let rejected = 0;
    // A short trace would not show the slowdown, so this attack takes up to three times the given seconds.
    const endsAt = performance.now() + 3 * seconds * 1000;
    for (let number = 0; number < SUBMISSIONS_MAX && performance.now() < endsAt; number += 1) {
      const { status, ms } = await caller.send(postRequest('/api/public/traces', target.attacker.key, bodyOf(number)));
      if (status === 200) latencies.push(ms);
      else rejected += 1;
    }
    caller.close();
    const first = percentile(latencies.slice(0, SAMPLE_SIZE), 0.5);
    const last = percentile(latencies.slice(-SAMPLE_SIZE), 0.5);
    const medians = `median of the first ${SAMPLE_SIZE}: ${first.toFixed(0)} ms, of the last ${SAMPLE_SIZE}: ${last.toFixed(0)} ms`;
    const note = `${latencies.length} submissions, ${medians}`;
    const slowdown = last / first;
    // With fewer than 2 * SAMPLE_SIZE submissions, the first and the last sample would overlap.
    if (latencies.length < 2 * SAMPLE_SIZE) {
      const violation = `only ${latencies.length} submissions were accepted; the comparison needs ${2 * SAMPLE_SIZE}: increase --seconds`;
      return { rejected, note, violations: [violation] };
    }
    return {
      rejected,
      note,
      violations: slowdown <= SLOWDOWN_MAX ? [] : [`the last submissions take ${slowdown.toFixed(1)} times as long as the first`],
    };
  },
};
