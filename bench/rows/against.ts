import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { alternate, type Pace, type Row } from '../rounds.ts';
import type { makeWorld, World } from '../world.ts';
import { works } from './requests.ts';

const KINDS = ['traces', 'otlp', 'telemetry', 'audit', 'promotion'] as const;

/**
 * Compares this checkout's server with the server of another checkout, such as the commit before a change. Each has its own database.
 * Both receive the same requests, in turn.
 * @param folder the other checkout, with its packages installed.
 */
export async function against(world: World, folder: string, only: readonly string[], pace: Pace): Promise<Row[]> {
  const module = pathToFileURL(join(resolve(folder), 'bench/world.ts')).href;
  const other = await ((await import(module)) as { makeWorld: typeof makeWorld }).makeWorld();
  try {
    const [here, there] = [works(world), works(other)];
    const rows: Row[] = [];
    for (const kind of KINDS.filter((each) => only.includes(each))) {
      const title = { work: kind, limit: `the same in ${folder}`, unit: '/s', goal: { atLeast: 0.95, moonshot: 1 } };
      rows.push(await alternate(title, pace, here[kind], there[kind]));
    }
    return rows;
  } finally {
    await other.end();
  }
}
