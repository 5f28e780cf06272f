import { auditBody } from '../bodies.ts';
import { LIMIT_PATHS } from '../limit-paths.ts';
import { shot } from '../load.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import type { World } from '../world.ts';
import { requests } from './requests.ts';

const ROUNDS_FOR_ONE = 4;

/** Appends to a ledger with its tree and checkpoints against appends to one without, each with a server of its own, in turn. */
export async function trees(on: World, off: World, pace: Pace): Promise<Row[]> {
  const title = {
    work: 'audit, with tree and checkpoints',
    limit: 'the same without',
    unit: 'entries/s',
    goal: { atLeast: 0.95, moonshot: 0.98 },
  };
  const appends = (world: World, path: string) => requests(world, [shot(path, world.key, auditBody())]);
  // A difference of a few in a hundred shows only between close neighbours, and over many of them.
  const short = { rounds: pace.rounds * ROUNDS_FOR_ONE, seconds: pace.seconds / ROUNDS_FOR_ONE };
  return [await alternate(title, short, appends(on, LIMIT_PATHS.auditWithTree), appends(off, LIMIT_PATHS.auditWithoutTree))];
}
