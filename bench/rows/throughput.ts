import { alternate, type Pace, type Row } from '../rounds.ts';
import type { World } from '../world.ts';
import { loadRequestsOf, requests, works } from './requests.ts';

/** Compares traces of 10 spans and 16 KB with the same server when it reads and validates the body and stores nothing. */
export const traces = async (world: World, pace: Pace): Promise<Row[]> => [
  await alternate(
    { work: 'traces', limit: 'read and validated, not stored', unit: 'traces/s', goal: { atLeast: 0.28, moonshot: 0.4 } },
    pace,
    works(world).traces,
    requests(world, loadRequestsOf(world).tracesReadOnly),
  ),
];

/** Compares audit appends to one ledger with an empty response (bare.ts has the target), and with one append per transaction. */
export async function audit(world: World, pace: Pace): Promise<Row[]> {
  const { tiny, auditSingly } = loadRequestsOf(world);
  return [
    await alternate(
      { work: 'audit, one hot tenant', limit: 'tiny POST, nothing stored', unit: 'entries/s' },
      pace,
      works(world).audit,
      requests(world, tiny),
    ),
    await alternate(
      { work: 'audit, one hot tenant', limit: 'one append a transaction', unit: 'entries/s', goal: { atLeast: 8, moonshot: 15 } },
      pace,
      works(world).audit,
      requests(world, auditSingly),
    ),
  ];
}

/** Compares promotion checks with an empty response (bare.ts has the target). Every second check is blocked. */
export const promotion = async (world: World, pace: Pace): Promise<Row[]> => [
  await alternate(
    { work: 'promotion checks', limit: 'tiny POST, nothing stored', unit: 'checks/s' },
    pace,
    works(world).promotion,
    requests(world, loadRequestsOf(world).tiny),
  ),
];
