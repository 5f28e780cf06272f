import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import { inSnapshotTransaction } from '../database/transaction.ts';
import { hasLaterEntry } from '../ledger/later-entries.ts';
import { readRetentionPeriods, type StoredPeriod } from '../storage/retention-periods.ts';

/**
 * Returns the periods if the last of them belongs to the newest change in the audit ledger. Without this check, an older and shorter period
 * would apply again if the newest row of the table was deleted. If the periods were changed since they were read, returns the new periods.
 * @param afterPage awaited after each page of the ledger; an error ends the reading.
 * @throws BrokenSealError if the ledger has a change that the table does not have.
 * @throws LogRewrittenError if the ledger was changed outside the server.
 */
export async function newestPeriods(
  pool: Pool,
  tenantId: string,
  periods: readonly StoredPeriod[],
  afterPage: () => Promise<void>,
): Promise<readonly StoredPeriod[]> {
  const after = periods.at(-1)?.entrySeq ?? 0;
  if (!(await hasLaterEntry(pool, tenantId, { after, matches: isChange, afterPage }))) return periods;
  const current = await inSnapshotTransaction(pool, tenantId, readRetentionPeriods);
  if ((current.at(-1)?.entrySeq ?? 0) <= after) throw new BrokenSealError('retention_periods');
  return newestPeriods(pool, tenantId, current, afterPage);
}

/**
 * Whether an entry is a change of the periods. Entries that ingestion keys recorded do not count, because senders choose the action of
 * their entries.
 */
const isChange = ({ action, recorded_by: by }: Record<string, unknown>): boolean =>
  action === 'retention.changed' && !String(by).startsWith('key:');
