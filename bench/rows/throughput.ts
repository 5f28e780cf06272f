import type { BenchEnvironment } from '../environment.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import { loadRequestsOf, requests, works } from './requests.ts';

/** Compares traces of 10 spans and 16 KB with the same server when it reads and validates the body and stores nothing. */
export const traces = async (environment: BenchEnvironment, pace: Pace): Promise<Row[]> => [
  await alternate(
    { work: 'traces', limit: 'read and validated, not stored', unit: 'traces/s', target: { required: 0.28, stretch: 0.4 } },
    pace,
    works(environment).traces,
    requests(environment, loadRequestsOf(environment).tracesReadOnly),
  ),
];

/** Compares audit appends to one ledger with an empty response (bare.ts has the target), and with one append per transaction. */
export async function audit(environment: BenchEnvironment, pace: Pace): Promise<Row[]> {
  const { tiny, auditSingly } = loadRequestsOf(environment);
  return [
    await alternate(
      { work: 'audit, one hot tenant', limit: 'tiny POST, nothing stored', unit: 'entries/s' },
      pace,
      works(environment).audit,
      requests(environment, tiny),
    ),
    await alternate(
      {
        work: 'audit, one hot tenant',
        limit: 'one append a transaction',
        unit: 'entries/s',
        target: { required: 8, stretch: 15 },
      },
      pace,
      works(environment).audit,
      requests(environment, auditSingly),
    ),
  ];
}

/** Compares promotion checks with an empty response (bare.ts has the target). Every second check is blocked. */
export const promotion = async (environment: BenchEnvironment, pace: Pace): Promise<Row[]> => [
  await alternate(
    { work: 'promotion checks', limit: 'tiny POST, nothing stored', unit: 'checks/s' },
    pace,
    works(environment).promotion,
    requests(environment, loadRequestsOf(environment).tiny),
  ),
];
