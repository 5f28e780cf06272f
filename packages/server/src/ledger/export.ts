import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { readAuditPage, type StoredEntry } from '../storage/audit-pages.ts';
import { readDecisionsPage } from '../storage/decisions.ts';
import { readHead, readLogExtent } from '../storage/ledger.ts';
import { storedPages } from './stored-pages.ts';

/** Some rows of an export, in order. */
export interface ExportPage {
  /** NDJSON: a line a row, each with its end. */
  lines: string;
  entries: number;
  /** row_hash (response_sha256 for decisions) of the last row. */
  head: string;
}

/** Which rows: both ends included, by seq. Everything when left out. */
export interface ExportRange {
  from?: number;
  to?: number | undefined;
}

/** A tenant's ledger as it is stored, up to the row that was the last one when it began. */
export async function* exportLedger(
  pool: Pool,
  tenantId: string,
  { from = 1, to }: ExportRange = {},
): AsyncGenerator<ExportPage> {
  const extent = await inTenantTransaction(pool, tenantId, (tx) => readLogExtent(tx, 'audit'));
  const rows = { ...extent, firstSeq: Math.max(from, extent.firstSeq), lastSeq: Math.min(to ?? extent.lastSeq, extent.lastSeq) };
  for await (const page of storedPages(pool, tenantId, { log: 'audit', read: readAuditPage, ...rows })) {
    yield { lines: page.map(exportLine).join(''), entries: page.length, head: page.at(-1)!.row_hash };
  }
}

/** The stored document with `row_hash` as its last member. Not parsed: what is stored is what is exported. */
const exportLine = ({ document, row_hash: rowHash }: StoredEntry): string =>
  `${document.replace(/\}$/, '')},"row_hash":"${rowHash}"}\n`;

/** A tenant's decisions, allowed ones too, in the order of their log; each as it was signed and sent, with its number. */
export async function* exportDecisions(
  pool: Pool,
  tenantId: string,
  { from = 1, to }: ExportRange = {},
): AsyncGenerator<ExportPage> {
  const head = await inTenantTransaction(pool, tenantId, (tx) => readHead(tx, 'decisions'));
  const last = Math.min(to ?? Number.MAX_SAFE_INTEGER, head?.seq ?? 0);
  for (let after = from - 1; after < last; ) {
    const page = await inTenantTransaction(pool, tenantId, (tx) => readDecisionsPage(tx, after, last));
    if (page.length > 0) {
      const lines = page.map(({ seq, document }) => `{"seq":${seq},"decision":${document}}\n`).join('');
      yield { lines, entries: page.length, head: page.at(-1)!.responseSha256 };
    }
    // A page without its last rows is short because somebody took them out: the verifier says which.
    after = Math.min(last, after + 1000);
  }
}
