import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { readAuditPage } from '../storage/audit-pages.ts';
import { readDecisionsPage } from '../storage/decisions.ts';
import { readKeyEvents } from '../storage/key-events.ts';
import { type LogName, readLogExtent } from '../storage/ledger.ts';
import { storedPages } from './stored-pages.ts';

/** Some rows of an export, in order. */
export interface ExportPage {
  /** NDJSON: a line a row, each with its end. */
  lines: string;
  entries: number;
  /** row_hash of the last row; of decisions response_sha256, of key events the event's hash. */
  head: string;
}

/** Which rows: both ends included, by seq. Everything when left out. */
export interface ExportRange {
  from?: number;
  to?: number | undefined;
}

/**
 * A tenant's log as it is stored, up to the row that was the last one when it began. Documents are not parsed: what is stored is what is
 * exported (docs/formats.md, "Export", "Decisions export", "Key event").
 */
export function exportLog(pool: Pool, tenantId: string, log: LogName, range: ExportRange = {}): AsyncGenerator<ExportPage> {
  switch (log) {
    case 'audit':
      return exported(pool, tenantId, range, {
        log,
        read: readAuditPage,
        line: ({ document, row_hash: rowHash }) => `${document.replace(/\}$/, '')},"row_hash":"${rowHash}"}\n`,
        hash: ({ row_hash: rowHash }) => rowHash,
      });
    case 'decisions':
      return exported(pool, tenantId, range, {
        log,
        read: readDecisionsPage,
        line: ({ seq, document }) => `{"seq":${seq},"decision":${document}}\n`,
        hash: ({ responseSha256 }) => responseSha256,
      });
    case 'keys':
      return exported(pool, tenantId, range, {
        log,
        read: readKeyEvents,
        line: ({ document }) => `${document}\n`,
        hash: ({ event_hash: eventHash }) => eventHash,
      });
  }
}

/** How a log's rows are read and written out. */
interface Exported<Row> {
  log: LogName;
  read: (tx: Transaction, after: number, last: number) => Promise<Row[]>;
  line: (row: Row) => string;
  hash: (row: Row) => string;
}

async function* exported<Row extends { seq: number }>(
  pool: Pool,
  tenantId: string,
  { from = 1, to }: ExportRange,
  { log, read, line, hash }: Exported<Row>,
): AsyncGenerator<ExportPage> {
  const extent = await inTenantTransaction(pool, tenantId, (tx) => readLogExtent(tx, log));
  const firstSeq = Math.max(from, extent.firstSeq);
  const lastSeq = Math.min(to ?? extent.lastSeq, extent.lastSeq);
  for await (const page of storedPages(pool, tenantId, { log, read, firstSeq, lastSeq })) {
    yield { lines: page.map(line).join(''), entries: page.length, head: hash(page.at(-1)!) };
  }
}
