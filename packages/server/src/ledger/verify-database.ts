import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import { deeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { digests } from '../digests.ts';
import { type LedgerExtent, readLedgerExtent, type StoredEntry } from '../storage/ledger.ts';
import { type ChainReport, NESTING_MAX, reportOf } from './chain-report.ts';
import { storedPages } from './stored-pages.ts';

/**
 * Walks a tenant's chain as the database holds it: hashes and links, the columns beside each document, and the head. It checks
 * what was there when it began and keeps no transaction open, so that it may run beside a busy server.
 */
export async function verifyDatabase(pool: Pool, tenantId: string): Promise<ChainReport> {
  const extent = await inTenantTransaction(pool, tenantId, readLedgerExtent);
  const verifier = new ChainVerifier(digests, tenantId);
  for await (const page of storedPages(pool, tenantId, extent)) {
    for (const row of page) {
      const expected = verifier.head.seq + 1;
      const reason = rowFault(verifier, row);
      if (reason !== undefined) return reportOf(verifier, { seq: expected, reason });
    }
  }
  return reportOf(verifier, headFault(verifier, extent));
}

function rowFault(verifier: ChainVerifier, row: StoredEntry): string | undefined {
  const entry = parsed(row.document);
  if (entry === undefined) return 'the stored document is not a JSON object';
  if (deeperThan(entry, NESTING_MAX)) return `the stored document is nested deeper than ${NESTING_MAX}`;
  const fault = verifier.next({ ...entry, row_hash: row.row_hash });
  if (fault !== undefined) return fault.reason;
  // The hash is of the canonical form of what the text says; only the canonical text has it itself. A row_hash or a member
  // given twice in the text comes to light here too.
  if (rowHashOf(row.document, digests) !== row.row_hash)
    return 'the stored document is not in canonical form: its text was altered';
  return columnFault(entry, row);
}

function parsed(document: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(document);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The columns that are searched by; people are shown what they say, so they must say what was hashed. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'actor', 'action', 'trace_id', 'agent_id', 'prev_hash'] as const;

function columnFault(entry: Record<string, unknown>, row: StoredEntry): string | undefined {
  for (const name of COLUMNS) {
    const hashed = name === 'recorded_at' ? String(entry[name]).replace(/Z$/, '000Z') : entry[name];
    if (row[name] !== hashed)
      return `the column ${name} says ${JSON.stringify(row[name])}, but the hashed document says ${JSON.stringify(hashed)}`;
  }
  return undefined;
}

/** Whether the head is where the rows end. */
function headFault({ head: walked }: ChainVerifier, { head }: LedgerExtent): { seq: number; reason: string } | undefined {
  const seq = walked.seq + 1;
  if (head === undefined) return { seq, reason: "the ledger's head row is gone" };
  if (head.seq > walked.seq)
    return { seq, reason: `the row is gone: the head says that the ledger has ${head.seq} rows, so its tail was cut off` };
  if (head.seq < walked.seq) {
    const first = head.seq + 1;
    return {
      seq: first,
      reason: `the head says that the ledger ends at ${head.seq}, but rows go on: it was moved back, or they were put in`,
    };
  }
  if (head.rowHash !== walked.rowHash)
    return {
      seq: walked.seq,
      reason: `the head says that the last row has row_hash ${head.rowHash}, but it has ${walked.rowHash}`,
    };
  return undefined;
}
