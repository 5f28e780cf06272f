import type { ChainedRow } from '@countersign/core/domain/audit-chain';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../packages/server/src/database/transaction.ts';
import { appendEntries, entryOf } from '../packages/server/src/ledger/append.ts';
import { lockHeads } from '../packages/server/src/storage/log-heads.ts';
import { auditBody } from './bodies.ts';
import { ID_PLACEHOLDER } from './load.ts';

const ROWS_PER_APPEND = 10_000;

/** Fills an empty ledger with this many rows, rounded up to the next 10,000. Yields the rows of each append after its commit. */
export async function* fillLedger(pool: Pool, tenantId: string, rows: number): AsyncGenerator<ChainedRow[]> {
  for (let appended = 0; appended < rows; appended += ROWS_PER_APPEND) {
    yield await inTenantTransaction(pool, tenantId, async (tx) => {
      const head = (await lockHeads(tx, ['audit'])).get('audit')!;
      const entries = Array.from({ length: ROWS_PER_APPEND }, (_, index) => newEntry(appended + index));
      return appendEntries(tx, head, entries).rows;
    });
  }
}

/** An entry whose texts contain this number. */
function newEntry(number: number) {
  const body = JSON.parse(auditBody().replaceAll(ID_PLACEHOLDER, String(number).padStart(ID_PLACEHOLDER.length, '0')));
  return entryOf({ recorded_by: 'key:000000000000', ...body });
}
