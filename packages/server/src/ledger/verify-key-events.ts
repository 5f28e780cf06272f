import { type ChainReport, NESTING_MAX } from '@countersign/core/domain/chain-report';
import { Moments } from '@countersign/core/domain/clock-correction';
import { readKeyEvent } from '@countersign/core/domain/key-event';
import { deeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { digests } from '../digests.ts';
import { readKeyEvents, type StoredKeyEvent } from '../storage/key-events.ts';
import { correctionsOf } from './stored-corrections.ts';
import { columnFault, parsedDocument } from './stored-document.ts';
import { type WalkDemand, walkLog } from './walk-log.ts';

/** Walks a tenant's key audit trail as the database holds it: the hash of each event, columns, gaps, head, tree and checkpoints. */
export async function verifyKeyEvents(pool: Pool, tenantId: string, demand: WalkDemand = {}): Promise<ChainReport> {
  const moments = new Moments('keys', await correctionsOf(pool, tenantId));
  const check = (row: StoredKeyEvent, seq: number) => {
    const fault = rowFault(row, seq, tenantId) ?? moments.next(seq, row.recorded_at.replace(/000Z$/, 'Z'), 'recorded_at');
    return fault === undefined ? { hash: row.event_hash } : { fault };
  };
  return walkLog(pool, tenantId, { log: 'keys', chained: false, read: readKeyEvents, check }, demand);
}

function rowFault(row: StoredKeyEvent, seq: number, tenantId: string): string | undefined {
  if (row.seq !== seq) return `seq is ${row.seq}, expected ${seq}: an event is missing`;
  const event = parsedDocument(row.document);
  if (event === undefined) return 'the stored document is not a JSON object';
  if (deeperThan(event, NESTING_MAX)) return `the stored document is nested deeper than ${NESTING_MAX}`;
  const read = readKeyEvent(event, { seq, tenantId }, digests);
  if ('fault' in read) return read.fault;
  if (read.canonical !== row.document) return 'the stored document is not in canonical form: its text was altered';
  if (read.hash !== row.event_hash)
    return `event_hash is ${row.event_hash}, but the event hashes to ${read.hash}: the event was altered`;
  return columnFault(event, row, COLUMNS);
}

/** The columns that are searched by; people are shown what they say, so they must say what was hashed. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'action', 'key_id'] as const;
