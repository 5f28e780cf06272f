import { runLoad } from '../load.ts';
import { type Row, rowOf } from '../rounds.ts';
import type { World } from '../world.ts';
import { loadRequestsOf } from './requests.ts';

const MB = 1_000_000;

/** The server's largest memory size under all kinds of load at once, from 64 connections. */
export async function memory(world: World, seconds: number): Promise<Row[]> {
  const { traces, telemetry, audit, promotion } = loadRequestsOf(world);
  const parts = [traces, telemetry, audit, promotion];
  const rates = await Promise.all(
    parts.map((loadRequests) => runLoad({ port: world.port, connections: 16, seconds, loadRequests })),
  );
  const requestRates = rates.map(({ perSecond }) => Math.round(perSecond)).join(' / ');
  const title = { work: `memory, all at once for ${seconds} s`, limit: 'MB', unit: 'MB', goal };
  const rounds = [{ rate: (await world.peakBytes()) / MB, limitRate: 1 }];
  return [rowOf(title, rounds, `traces / telemetry / audit / promotion requests per second meanwhile: ${requestRates}`)];
}

const goal = { atLeast: 300, moonshot: 200, lessIsBetter: true };
