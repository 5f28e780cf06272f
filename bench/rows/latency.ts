import { runLoad } from '../load.ts';
import { type Pace, percentile, type Row, rowOf } from '../rounds.ts';
import type { World } from '../world.ts';
import { loadRequestsOf } from './requests.ts';

/** The 99th percentile of promotion checks from one caller, compared with an empty round trip to the database. */
export async function latency(world: World, pace: Pace): Promise<Row[]> {
  const loadRequests = loadRequestsOf(world).promotion;
  const checks = () => runLoad({ port: world.port, connections: 1, seconds: pace.seconds, loadRequests });
  await checks();
  const rounds: Row['rounds'] = [];
  const medians: number[] = [];
  for (let round = 0; round < pace.rounds; round += 1) {
    const { latencies } = await checks();
    medians.push(percentile(latencies, 0.5));
    rounds.push({ rate: percentile(latencies, 0.99), limitRate: percentile(await selectOne(world, pace.seconds), 0.5) });
  }
  const title = { work: 'promotion check p99, 1 connection', limit: 'p50 of SELECT 1', unit: 'ms', goal };
  return [rowOf(title, rounds, `its p50 in each round: ${medians.map((each) => each.toFixed(2)).join(', ')} ms`)];
}

const goal = { atLeast: 20, moonshot: 10, lessIsBetter: true };

async function selectOne({ database }: World, seconds: number): Promise<number[]> {
  const client = await database.pool.connect();
  const latencies: number[] = [];
  const endsAt = performance.now() + seconds * 1000;
  for (let startedAt = performance.now(); startedAt < endsAt; startedAt = performance.now()) {
    await client.query('SELECT 1');
    latencies.push(performance.now() - startedAt);
  }
  client.release();
  return latencies;
}
