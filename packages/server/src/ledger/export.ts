import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { readAuditPage } from '../storage/audit-pages.ts';
import { readDecisionsPage } from '../storage/decisions.ts';
import { readEvidenceEvents } from '../storage/evidence-events.ts';
import { readKeyEvents } from '../storage/key-events.ts';
import { readDocumentSizes, readLogExtent } from '../storage/ledger.ts';
import type { LogName } from '../storage/log-heads.ts';
import { PAGE_BYTES_MAX, PAGE_ROWS } from '../storage/log-pages.ts';
import { readTraceEvents } from '../storage/trace-events.ts';
import { readStoredPages } from './stored-pages.ts';

/** Some rows of an export, in order. */
export interface ExportPage {
  /** NDJSON: one line per row, each with its line end. */
  lines: string;
  entries: number;
  /** The hash of the last row: row_hash of an audit entry, response_sha256 of a decision, event_hash of an event. */
  head: string;
}

/**
 * The maximum number of pages in memory: two that are read before the response starts (http/outgoing.ts), and the next one. The memory of
 * a row larger than PAGE_BYTES_MAX is reserved only if it is one of the first PAGES_IN_MEMORY * PAGE_ROWS rows. Reading the sizes of all
 * rows of a log would take too long.
 */
const PAGES_IN_MEMORY = 3;

/** A range of rows by seq, both ends included. By default all rows. */
export interface ExportRange {
  from?: number;
  to?: number | undefined;
}

/**
 * Exports a tenant's log, or a range of it, without rows that are appended after the start. Documents are not parsed, so they are exported
 * exactly as stored (docs/formats.md).
 * @param reserve is called before the first pages are read, with the bytes of memory that they need. It may throw to reject the export.
 */
export function exportLog(
  pool: Pool,
  tenantId: string,
  log: LogName,
  range: ExportRange = {},
  reserve?: (bytes: number) => void,
): AsyncGenerator<ExportPage> {
  switch (log) {
    case 'audit':
      return exportPages(pool, tenantId, range, {
        log,
        reserve,
        read: readAuditPage,
        line: ({ document, row_hash: rowHash }) => `${document.replace(/\}$/, '')},"row_hash":"${rowHash}"}\n`,
        hash: ({ row_hash: rowHash }) => rowHash,
      });
    case 'decisions':
      return exportPages(pool, tenantId, range, {
        log,
        reserve,
        read: readDecisionsPage,
        line: ({ seq, document }) => `{"seq":${seq},"decision":${document}}\n`,
        hash: ({ responseSha256 }) => responseSha256,
      });
    case 'evidence':
      return exportPages(pool, tenantId, range, {
        log,
        reserve,
        read: readEvidenceEvents,
        line: ({ document }) => `${document}\n`,
        hash: ({ event_hash: eventHash }) => eventHash,
      });
    case 'keys':
      return exportPages(pool, tenantId, range, {
        log,
        reserve,
        read: readKeyEvents,
        line: ({ document }) => `${document}\n`,
        hash: ({ event_hash: eventHash }) => eventHash,
      });
    case 'traces':
      return exportPages(pool, tenantId, range, {
        log,
        reserve,
        read: readTraceEvents,
        line: ({ document }) => `${document}\n`,
        hash: ({ event_hash: eventHash }) => eventHash,
      });
  }
}

/** How a log's rows are read and exported. */
interface LogFormat<Row> {
  log: LogName;
  reserve: ((bytes: number) => void) | undefined;
  read: (tx: Transaction, after: number, last: number) => Promise<Row[]>;
  line: (row: Row) => string;
  hash: (row: Row) => string;
}

async function* exportPages<Row extends { seq: number }>(
  pool: Pool,
  tenantId: string,
  { from = 1, to }: ExportRange,
  { log, reserve, read, line, hash }: LogFormat<Row>,
): AsyncGenerator<ExportPage> {
  const { firstSeq, lastSeq } = await inTenantTransaction(pool, tenantId, async (tx) => {
    const extent = await readLogExtent(tx, log);
    const rows = { firstSeq: Math.max(from, extent.firstSeq), lastSeq: Math.min(to ?? extent.lastSeq, extent.lastSeq) };
    if (reserve !== undefined) {
      const lastOfPages = Math.min(rows.lastSeq, rows.firstSeq - 1 + PAGES_IN_MEMORY * PAGE_ROWS);
      const { total, largest } = await readDocumentSizes(tx, log, rows.firstSeq, lastOfPages);
      reserve(Math.min(total, PAGES_IN_MEMORY * Math.max(PAGE_BYTES_MAX, largest)));
    }
    return rows;
  });
  for await (const page of readStoredPages(pool, tenantId, { log, read, firstSeq, lastSeq })) {
    yield { lines: page.map(line).join(''), entries: page.length, head: hash(page.at(-1)!) };
  }
}
