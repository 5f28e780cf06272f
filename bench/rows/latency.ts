import type { BenchEnvironment } from '../environment.ts';
import { runLoad } from '../load.ts';
import { percentile, type RoundOptions, type Row, rowOf } from '../rounds.ts';
import { loadRequestsOf } from './requests.ts';

/**
 * Compares the latency of promotion checks over one connection with the minimum time of durable work: an INSERT of one row with its own
 * commit.
 */
export async function latency(environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> {
  const loadRequests = loadRequestsOf(environment).promotion;
  const checks = () => runLoad({ port: environment.port, connections: 1, seconds: options.seconds, loadRequests });
  await environment.superuser.query('CREATE TABLE IF NOT EXISTS public.inserted (number bigint PRIMARY KEY)');
  await checks();
  const rounds: { p50: number; p99: number; limitRate: number }[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const { latencies } = await checks();
    const limitRate = percentile(await insertRows(environment, options.seconds), 0.5);
    rounds.push({ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), limitRate });
  }
  return (['p50', 'p99'] as const).map((rank) => {
    const title = {
      work: `promotion check ${rank}, 1 connection`,
      limit: 'p50 of an INSERT of one row',
      unit: 'ms',
      target: TARGETS[rank],
    };
    return rowOf(
      title,
      rounds.map((round) => ({ rate: round[rank], limitRate: round.limitRate })),
    );
  });
}

const TARGETS = {
  p50: { required: 5, stretch: 3, isLowerBetter: true },
  p99: { required: 20, stretch: 10, isLowerBetter: true },
};

let lastNumber = 0;

/** Runs INSERTs one after another, each committed with fsync. Returns their times in milliseconds. */
async function insertRows({ superuser }: BenchEnvironment, seconds: number): Promise<number[]> {
  const latencies: number[] = [];
  const endsAt = performance.now() + seconds * 1000;
  for (let startedAt = performance.now(); startedAt < endsAt; startedAt = performance.now()) {
    lastNumber += 1;
    await superuser.query({ name: 'insert_row', text: 'INSERT INTO public.inserted VALUES ($1)', values: [lastNumber] });
    latencies.push(performance.now() - startedAt);
  }
  return latencies;
}
