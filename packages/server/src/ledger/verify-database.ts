import { type ChainReport, NESTING_MAX } from '@countersign/core/domain/chain-report';
import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import { deeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { digests } from '../digests.ts';
import { readAuditPage, type StoredEntry } from '../storage/ledger.ts';
import { columnFault, parsedDocument } from './stored-document.ts';
import { type WalkDemand, walkLog } from './walk-log.ts';

/** Walks a tenant's audit ledger as the database holds it: hashes and links, the columns beside each document, head, tree and checkpoints. */
export async function verifyDatabase(pool: Pool, tenantId: string, demand: WalkDemand = {}): Promise<ChainReport> {
  const verifier = new ChainVerifier(digests, tenantId);
  const check = (row: StoredEntry) => {
    const fault = rowFault(verifier, row);
    return fault === undefined ? { hash: row.row_hash } : { fault };
  };
  return walkLog(pool, tenantId, { log: 'audit', chained: true, read: readAuditPage, check }, demand);
}

function rowFault(verifier: ChainVerifier, row: StoredEntry): string | undefined {
  const entry = parsedDocument(row.document);
  if (entry === undefined) return 'the stored document is not a JSON object';
  if (deeperThan(entry, NESTING_MAX)) return `the stored document is nested deeper than ${NESTING_MAX}`;
  // With the text: the hash is of the canonical form of what it says, and a row_hash or a member given twice comes to light so.
  const fault = verifier.next({ ...entry, row_hash: row.row_hash }, row.document);
  if (fault !== undefined) return fault.reason;
  return columnFault(entry, row, COLUMNS);
}

/** The columns that are searched by; people are shown what they say, so they must say what was hashed. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'actor', 'action', 'trace_id', 'agent_id', 'prev_hash'] as const;
