import { auditBody } from '../bodies.ts';
import type { BenchEnvironment } from '../environment.ts';
import { LIMIT_PATHS } from '../limit-paths.ts';
import { postRequest } from '../load.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import { requests } from './requests.ts';

const ROUNDS_FOR_ONE = 4;

/** Compares appends to a ledger with a tree and checkpoints with appends to a ledger without them, in turn. Each has its own server. */
export async function trees(on: BenchEnvironment, off: BenchEnvironment, pace: Pace): Promise<Row[]> {
  const title = {
    work: 'audit, with tree and checkpoints',
    limit: 'the same without',
    unit: 'entries/s',
    target: { required: 0.95, stretch: 0.98 },
  };
  const appends = (environment: BenchEnvironment, path: string) =>
    requests(environment, [postRequest(path, environment.key, auditBody())]);
  // A difference of a few percent is visible only in short rounds that follow each other, and only in many of them.
  const short = { rounds: pace.rounds * ROUNDS_FOR_ONE, seconds: pace.seconds / ROUNDS_FOR_ONE };
  return [await alternate(title, short, appends(on, LIMIT_PATHS.auditWithTree), appends(off, LIMIT_PATHS.auditWithoutTree))];
}
