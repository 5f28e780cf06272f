import { auditBody } from '../bodies.ts';
import type { BenchEnvironment } from '../environment.ts';
import { LIMIT_PATHS } from '../limit-paths.ts';
import { postRequest } from '../load.ts';
import { alternate, type RoundOptions, type Row } from '../rounds.ts';
import { requestRate } from './requests.ts';

/** Each round is divided into this number of short rounds. */
const SHORT_ROUNDS = 4;

/** Compares appends to two ledgers, alternately: one with a tree and checkpoints, the other without. Each has its own server. */
export async function trees(withTree: BenchEnvironment, withoutTree: BenchEnvironment, options: RoundOptions): Promise<Row[]> {
  const title = {
    work: 'audit, with tree and checkpoints',
    limit: 'audit, without tree and checkpoints',
    unit: 'entries/s',
    target: { required: 0.95, stretch: 0.98 },
  };
  const appends = (environment: BenchEnvironment, path: string) =>
    requestRate(environment, [postRequest(path, environment.key, auditBody())]);
  // A difference of a few percent is visible only with many short rounds.
  const shortRounds = { rounds: options.rounds * SHORT_ROUNDS, seconds: options.seconds / SHORT_ROUNDS };
  return [
    await alternate(
      title,
      shortRounds,
      appends(withTree, LIMIT_PATHS.auditWithTree),
      appends(withoutTree, LIMIT_PATHS.auditWithoutTree),
    ),
  ];
}
