import type { BenchEnvironment } from '../environment.ts';
import { runLoad } from '../load.ts';
import { type Row, rowOf } from '../rounds.ts';
import { loadRequestsOf } from './requests.ts';

const MB = 1_000_000;

/**
 * The server's largest memory size under four kinds of load at once: traces, telemetry, audit appends and promotion checks, each over 16
 * connections.
 */
export async function memory(environment: BenchEnvironment, seconds: number): Promise<Row[]> {
  const { traces, telemetry, audit, promotion } = loadRequestsOf(environment);
  const parts = [traces, telemetry, audit, promotion];
  const rates = await Promise.all(
    parts.map((loadRequests) => runLoad({ port: environment.port, connections: 16, seconds, loadRequests })),
  );
  const requestRates = rates.map(({ perSecond }) => Math.round(perSecond)).join(' / ');
  const title = { work: `memory under four loads at once for ${seconds} s`, limit: 'MB', unit: 'MB', target };
  const rounds = [{ rate: (await environment.peakBytes()) / MB, limitRate: 1 }];
  return [rowOf(title, rounds, `requests per second meanwhile (traces / telemetry / audit / promotion): ${requestRates}`)];
}

const target = { required: 300, stretch: 200, isLowerBetter: true };
