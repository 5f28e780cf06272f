import { CREATE_BARE_TABLE } from '../bare-storage.ts';
import type { BenchEnvironment } from '../environment.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import { loadRequestsOf, requests, works } from './requests.ts';

/** Compares a durable POST with an empty one, and the product with a durable POST. The first and the third row explain the others. */
export async function bare(environment: BenchEnvironment, pace: Pace): Promise<Row[]> {
  await environment.superuser.query(CREATE_BARE_TABLE);
  const loadRequests = loadRequestsOf(environment);
  const nothing = requests(environment, loadRequests.tiny);
  const body = requests(environment, loadRequests.bare);
  const check = requests(environment, loadRequests.bareChecks);
  const { audit, promotion } = works(environment);
  const titles = {
    body: { work: 'a body stored bare', limit: 'tiny POST, nothing stored', unit: 'bodies/s' },
    audit: {
      work: 'audit, one hot tenant',
      limit: 'a body stored bare',
      unit: 'entries/s',
      target: { required: 0.55, stretch: 0.7 },
    },
    check: { work: 'evidence read, a body stored bare', limit: 'tiny POST, nothing stored', unit: 'bodies/s' },
    promotion: {
      work: 'promotion checks',
      limit: 'evidence read, a body stored bare',
      unit: 'checks/s',
      target: { required: 0.5, stretch: 0.65 },
    },
  };
  return [
    await alternate(titles.body, pace, body, nothing),
    await alternate(titles.audit, pace, audit, body),
    await alternate(titles.check, pace, check, nothing),
    await alternate(titles.promotion, pace, promotion, check),
  ];
}
