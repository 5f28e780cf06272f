import type { BenchEnvironment } from '../environment.ts';
import { alternate, type RoundOptions, type Row } from '../rounds.ts';
import { loadRequestsOf, measuresOf, requestRate } from './requests.ts';

/** Compares traces of 10 spans and 16 KB with a route of the same server that only reads and validates the body. */
export const traces = async (environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> => [
  await alternate(
    { work: 'traces', limit: 'read and validated, not stored', unit: 'traces/s', target: { required: 0.28, stretch: 0.4 } },
    options,
    measuresOf(environment).traces,
    requestRate(environment, loadRequestsOf(environment).tracesReadOnly),
  ),
];

/**
 * Compares audit appends to one ledger with a tiny POST that stores nothing, and with one append per transaction. The first comparison has
 * no target, because the comparison in bare.ts has one.
 */
export async function audit(environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> {
  const { tiny, auditSingly } = loadRequestsOf(environment);
  return [
    await alternate(
      { work: 'audit, one hot tenant', limit: 'tiny POST, nothing stored', unit: 'entries/s' },
      options,
      measuresOf(environment).audit,
      requestRate(environment, tiny),
    ),
    await alternate(
      {
        work: 'audit, one hot tenant',
        limit: 'one append per transaction',
        unit: 'entries/s',
        target: { required: 8, stretch: 15 },
      },
      options,
      measuresOf(environment).audit,
      requestRate(environment, auditSingly),
    ),
  ];
}

/**
 * Compares promotion checks with a tiny POST that stores nothing. Every second check is blocked. This comparison has no target, because the
 * comparison in bare.ts has one.
 */
export const promotion = async (environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> => [
  await alternate(
    { work: 'promotion checks', limit: 'tiny POST, nothing stored', unit: 'checks/s' },
    options,
    measuresOf(environment).promotion,
    requestRate(environment, loadRequestsOf(environment).tiny),
  ),
];
