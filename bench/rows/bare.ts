import { CREATE_BARE_TABLE } from '../bare-storage.ts';
import type { BenchEnvironment } from '../environment.ts';
import { alternate, type RoundOptions, type Row } from '../rounds.ts';
import { loadRequestsOf, measuresOf, requestRate } from './requests.ts';

/**
 * Compares audit appends with storing only the body (bare-storage.ts), and promotion checks with reading the evidence and storing only the
 * body. The second operation of each comparison is its limit. To explain the results, the function also compares both limits with a tiny
 * POST that stores nothing.
 */
export async function bare(environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> {
  await environment.superuser.query(CREATE_BARE_TABLE);
  const loadRequests = loadRequestsOf(environment);
  const tiny = requestRate(environment, loadRequests.tiny);
  const body = requestRate(environment, loadRequests.bare);
  const check = requestRate(environment, loadRequests.bareChecks);
  const { audit, promotion } = measuresOf(environment);
  const titles = {
    body: { work: 'bare INSERTs', limit: 'tiny POST, nothing stored', unit: 'bodies/s' },
    audit: {
      work: 'audit, one hot tenant',
      limit: 'bare INSERTs',
      unit: 'entries/s',
      target: { required: 0.55, stretch: 0.7 },
    },
    check: { work: 'bare INSERTs that also read the evidence', limit: 'tiny POST, nothing stored', unit: 'bodies/s' },
    promotion: {
      work: 'promotion checks',
      limit: 'bare INSERTs that also read the evidence',
      unit: 'checks/s',
      target: { required: 0.5, stretch: 0.65 },
    },
  };
  return [
    await alternate(titles.body, options, body, tiny),
    await alternate(titles.audit, options, audit, body),
    await alternate(titles.check, options, check, tiny),
    await alternate(titles.promotion, options, promotion, check),
  ];
}
