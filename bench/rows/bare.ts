import { CREATE_BARE_TABLE } from '../bare-storage.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import type { World } from '../world.ts';
import { loadRequestsOf, requests, works } from './requests.ts';

/** Compares a durable POST with an empty one, and the product with a durable POST. The first and the third row explain the others. */
export async function bare(world: World, pace: Pace): Promise<Row[]> {
  await world.superuser.query(CREATE_BARE_TABLE);
  const loadRequests = loadRequestsOf(world);
  const nothing = requests(world, loadRequests.tiny);
  const body = requests(world, loadRequests.bare);
  const check = requests(world, loadRequests.bareChecks);
  const { audit, promotion } = works(world);
  const titles = {
    body: { work: 'a body stored bare', limit: 'tiny POST, nothing stored', unit: 'bodies/s' },
    audit: {
      work: 'audit, one hot tenant',
      limit: 'a body stored bare',
      unit: 'entries/s',
      goal: { atLeast: 0.55, moonshot: 0.7 },
    },
    check: { work: 'evidence read, a body stored bare', limit: 'tiny POST, nothing stored', unit: 'bodies/s' },
    promotion: {
      work: 'promotion checks',
      limit: 'evidence read, a body stored bare',
      unit: 'checks/s',
      goal: { atLeast: 0.5, moonshot: 0.65 },
    },
  };
  return [
    await alternate(titles.body, pace, body, nothing),
    await alternate(titles.audit, pace, audit, body),
    await alternate(titles.check, pace, check, nothing),
    await alternate(titles.promotion, pace, promotion, check),
  ];
}
