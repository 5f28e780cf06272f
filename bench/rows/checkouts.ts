import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { BenchEnvironment, createEnvironment } from '../environment.ts';
import { startMoreServers } from '../more-servers.ts';
import { COMPARED_PARTS, type Part } from '../options.ts';
import { withServerTime } from '../processor-time.ts';
import { alternate, type RoundOptions, type Row } from '../rounds.ts';
import { measuresOf } from './requests.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Compares this checkout's server with the server of another checkout, such as the commit before a change. Each has its own database.
 * Both receive the same requests, alternately.
 * @param folder the other checkout, with its packages installed.
 * @param servers the number of servers of each checkout, which share its database. The load divides its connections among these servers.
 */
export async function compareCheckouts(
  environment: BenchEnvironment,
  folder: string,
  { only, servers, ...options }: RoundOptions & { only: readonly Part[]; servers: number },
): Promise<Row[]> {
  const otherEnvironment = await environmentOf(resolve(folder));
  try {
    await using ownServers = await startMoreServers(environment, ROOT, servers);
    await using otherServers = await startMoreServers(otherEnvironment, folder, servers);
    const ownMeasures = measuresOf({ ...environment, ports: ownServers.ports });
    const otherMeasures = measuresOf({ ...otherEnvironment, ports: otherServers.ports });
    const rows: Row[] = [];
    for (const kind of COMPARED_PARTS.filter((each) => only.includes(each))) {
      const work = servers === 1 ? kind : `${kind}, ${servers} servers`;
      const title = { work, limit: `the same in ${folder}`, unit: '/s', target: { required: 0.95, stretch: 1 } };
      const ownMeasure = withServerTime(ownMeasures[kind], ROOT);
      const otherMeasure = withServerTime(otherMeasures[kind], resolve(folder));
      const row = await alternate(title, options, ownMeasure.measure, otherMeasure.measure);
      rows.push({
        ...row,
        note: `processor time of the servers per unit of work: ${timeText(ownMeasure.medianUs(), otherMeasure.medianUs())}`,
      });
    }
    return rows;
  } finally {
    await otherEnvironment.end();
  }
}

/** Creates a test environment that runs the code of another checkout. */
async function environmentOf(folder: string): Promise<BenchEnvironment> {
  const path = join(folder, 'bench/environment.ts');
  if (existsSync(path))
    return ((await import(pathToFileURL(path).href)) as { createEnvironment: CreateEnvironment }).createEnvironment();
  // Earlier checkouts have the same function in another file and under another name.
  const earlier = pathToFileURL(join(folder, 'bench/world.ts')).href;
  return ((await import(earlier)) as { makeWorld: CreateEnvironment }).makeWorld();
}

type CreateEnvironment = typeof createEnvironment;

/** Two times per unit of work, and their ratio. */
const timeText = (ownUs: number, otherUs: number): string =>
  `${ownUs.toFixed(1)} µs here, ${otherUs.toFixed(1)} µs in the other checkout, ratio ${(ownUs / otherUs).toFixed(2)}`;
