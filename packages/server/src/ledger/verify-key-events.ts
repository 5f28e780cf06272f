import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { type ChainReport, NESTING_MAX } from '@countersign/core/domain/chain-report';
import { hashKeyEvent, type KeyEvent } from '@countersign/core/domain/key-event';
import { deeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { digests } from '../digests.ts';
import { readKeyEvents, type StoredKeyEvent } from '../storage/key-events.ts';
import { columnFault, parsedDocument } from './stored-document.ts';
import { type WalkDemand, walkLog } from './walk-log.ts';

/** Walks a tenant's key audit trail as the database holds it: the hash of each event, columns, gaps, head, tree and checkpoints. */
export async function verifyKeyEvents(pool: Pool, tenantId: string, demand: WalkDemand = {}): Promise<ChainReport> {
  const check = (row: StoredKeyEvent, seq: number) => {
    const fault = rowFault(row, seq, tenantId);
    return fault === undefined ? { hash: row.event_hash } : { fault };
  };
  return walkLog(pool, tenantId, { log: 'keys', chained: false, read: readKeyEvents, check }, demand);
}

function rowFault(row: StoredKeyEvent, seq: number, tenantId: string): string | undefined {
  if (row.seq !== seq) return `seq is ${row.seq}, expected ${seq}: an event is missing`;
  const event = parsedDocument(row.document);
  if (event === undefined) return 'the stored document is not a JSON object';
  if (deeperThan(event, NESTING_MAX)) return `the stored document is nested deeper than ${NESTING_MAX}`;
  if (event.version !== 1) return `version ${JSON.stringify(event.version)} is not known to this verifier`;
  if (event.tenant_id !== tenantId) return `tenant_id is not ${tenantId}: an event of another tenant`;
  const hashed = hashOf(event as unknown as KeyEvent);
  if ('fault' in hashed) return hashed.fault;
  if (hashed.canonical !== row.document) return 'the stored document is not in canonical form: its text was altered';
  if (hashed.hash !== row.event_hash)
    return `event_hash is ${row.event_hash}, but the event hashes to ${hashed.hash}: the event was altered`;
  return columnFault(event, row, COLUMNS);
}

function hashOf(event: KeyEvent): { canonical: string; hash: string } | { fault: string } {
  try {
    return hashKeyEvent(event, digests);
  } catch (error) {
    if (error instanceof NotCanonicalError) return { fault: `the event has no canonical form: ${error.message}` };
    throw error;
  }
}

/** The columns that are searched by; people are shown what they say, so they must say what was hashed. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'action', 'key_id'] as const;
