import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import { hasLaterEntry } from '../ledger/later-entries.ts';
import type { StoredPeriod } from '../storage/retention-periods.ts';

/**
 * Throws unless the last of the periods belongs to the newest change in the audit ledger. Otherwise, after a deletion of the newest row of
 * the table, an older and shorter period would apply again.
 * @param afterPage awaited after each page of the ledger; an error ends the reading.
 * @throws BrokenSealError if the ledger has a later change.
 * @throws LogRewrittenError if the ledger was changed outside the server.
 */
export async function requireNewestPeriod(
  pool: Pool,
  tenantId: string,
  periods: readonly StoredPeriod[],
  afterPage: () => Promise<void>,
): Promise<void> {
  const after = periods.at(-1)?.entrySeq ?? 0;
  if (await hasLaterEntry(pool, tenantId, { after, matches: isChange, afterPage }))
    throw new BrokenSealError('retention_periods');
}

/** Whether an entry is a change of the periods. Entries of ingestion keys are not, because senders choose the action of their entries. */
const isChange = ({ action, recorded_by: by }: Record<string, unknown>): boolean =>
  action === 'retention.changed' && !String(by).startsWith('key:');
