import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { readLedgerExtent, type StoredEntry } from '../storage/ledger.ts';
import { storedPages } from './stored-pages.ts';

/** Some rows of an export, in order. */
export interface ExportPage {
  /** NDJSON: a line a row, each with its end. */
  lines: string;
  entries: number;
  /** row_hash of the last row. */
  head: string;
}

/** A tenant's ledger as it is stored, up to the row that was the last one when it began. */
export async function* exportLedger(pool: Pool, tenantId: string): AsyncGenerator<ExportPage> {
  const extent = await inTenantTransaction(pool, tenantId, readLedgerExtent);
  for await (const page of storedPages(pool, tenantId, extent)) {
    yield { lines: page.map(exportLine).join(''), entries: page.length, head: page.at(-1)!.row_hash };
  }
}

/** The stored document with `row_hash` as its last member. Not parsed: what is stored is what is exported. */
const exportLine = ({ document, row_hash: rowHash }: StoredEntry): string =>
  `${document.replace(/\}$/, '')},"row_hash":"${rowHash}"}\n`;
