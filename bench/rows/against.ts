import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { BenchEnvironment, createEnvironment } from '../environment.ts';
import { withMoreServers } from '../more-servers.ts';
import { withServerTime } from '../processor-time.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import { works } from './requests.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const KINDS = ['traces', 'otlp', 'telemetry', 'audit', 'promotion'] as const;

/**
 * Compares this checkout's server with the server of another checkout, such as the commit before a change. Each has its own database.
 * Both receive the same requests, in turn.
 * @param folder the other checkout, with its packages installed.
 * @param servers how many servers of a checkout share its database and the connections.
 */
export async function against(
  environment: BenchEnvironment,
  folder: string,
  { only, servers, ...pace }: Pace & { only: readonly string[]; servers: number },
): Promise<Row[]> {
  const other = await environmentOf(resolve(folder));
  try {
    await using ours = await withMoreServers(environment, ROOT, servers);
    await using theirs = await withMoreServers(other, folder, servers);
    const [here, there] = [works({ ...environment, ports: ours.ports }), works({ ...other, ports: theirs.ports })];
    const rows: Row[] = [];
    for (const kind of KINDS.filter((each) => only.includes(each))) {
      const work = servers === 1 ? kind : `${kind}, ${servers} servers`;
      const title = { work, limit: `the same in ${folder}`, unit: '/s', target: { required: 0.95, stretch: 1 } };
      const [own, limit] = [withServerTime(here[kind], ROOT), withServerTime(there[kind], resolve(folder))];
      const row = await alternate(title, pace, own.measure, limit.measure);
      rows.push({ ...row, note: `processor time of the server: ${timeText(own.medianUs(), limit.medianUs())}` });
    }
    return rows;
  } finally {
    await other.end();
  }
}

/** Creates the test environment of another checkout, with its own code. */
async function environmentOf(folder: string): Promise<BenchEnvironment> {
  const path = join(folder, 'bench/environment.ts');
  if (existsSync(path))
    return ((await import(pathToFileURL(path).href)) as { createEnvironment: CreateEnvironment }).createEnvironment();
  // Earlier checkouts have it under another name.
  const earlier = pathToFileURL(join(folder, 'bench/world.ts')).href;
  return ((await import(earlier)) as { makeWorld: CreateEnvironment }).makeWorld();
}

type CreateEnvironment = typeof createEnvironment;

/** Two times per unit of work, and their ratio. */
const timeText = (own: number, other: number): string =>
  `${own.toFixed(1)} µs and ${other.toFixed(1)} µs, ratio ${(own / other).toFixed(2)}`;
