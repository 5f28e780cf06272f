import type { ChainedRow } from '@countersign/core/domain/audit-chain';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../packages/server/src/database/transaction.ts';
import { appendEntries, entryOf } from '../packages/server/src/ledger/append.ts';
import { lockHeads } from '../packages/server/src/storage/log-heads.ts';
import { auditBody } from './bodies.ts';

/** Rows per append. */
const SLICE = 10_000;

/** Fills an empty ledger with this many rows, rounded up to the next 10,000. Yields the rows when they are committed. */
export async function* filledLedger(pool: Pool, tenantId: string, rows: number): AsyncGenerator<ChainedRow[]> {
  for (let made = 0; made < rows; made += SLICE) {
    yield await inTenantTransaction(pool, tenantId, async (tx) => {
      const head = (await lockHeads(tx, ['audit'])).get('audit')!;
      const entries = Array.from({ length: SLICE }, (_, index) => entryNumber(made + index));
      return appendEntries(tx, head, entries).rows;
    });
  }
}

function entryNumber(number: number) {
  const body = JSON.parse(auditBody().replaceAll('@@@@@@@@@@@@', String(number).padStart(12, '0')));
  return entryOf({ recorded_by: 'key:000000000000', ...body });
}
