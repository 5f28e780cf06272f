import { type ChainReport, NESTING_MAX } from '@countersign/core/domain/chain-report';
import { Moments } from '@countersign/core/domain/clock-correction';
import { readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceConflictError, EvidenceState } from '@countersign/core/domain/evidence-state';
import { deeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { digests } from '../digests.ts';
import { readEvidenceEvents, type StoredEvidenceEvent } from '../storage/evidence-events.ts';
import { correctionsOf } from './stored-corrections.ts';
import { parsedDocument } from './stored-document.ts';
import { type WalkDemand, walkLog } from './walk-log.ts';

/** Walks a tenant's log `evidence` as the database holds it: hash of each event, what follows from what, gaps, head, tree and checkpoints. */
export async function verifyEvidence(
  pool: Pool,
  tenantId: string,
  demand: WalkDemand = {},
): Promise<ChainReport & { state: EvidenceState }> {
  const moments = new Moments('evidence', await correctionsOf(pool, tenantId));
  const state = new EvidenceState();
  const check = (row: StoredEvidenceEvent, seq: number) => {
    const fault = rowFault(row, seq, { tenantId, state, moments });
    return fault === undefined ? { hash: row.event_hash } : { fault };
  };
  const report = await walkLog(pool, tenantId, { log: 'evidence', chained: false, read: readEvidenceEvents, check }, demand);
  return { ...report, state };
}

function rowFault(
  row: StoredEvidenceEvent,
  seq: number,
  { tenantId, state, moments }: { tenantId: string; state: EvidenceState; moments: Moments },
): string | undefined {
  if (row.seq !== seq) return `seq is ${row.seq}, expected ${seq}: an event is missing`;
  const document = parsedDocument(row.document);
  if (document === undefined) return 'the stored document is not a JSON object';
  if (deeperThan(document, NESTING_MAX)) return `the stored document is nested deeper than ${NESTING_MAX}`;
  const read = readEvidenceEvent(document, { seq, tenantId }, digests);
  if ('fault' in read) return read.fault;
  if (read.canonical !== row.document) return 'the stored document is not in canonical form: its text was altered';
  if (read.hash !== row.event_hash)
    return `event_hash is ${row.event_hash}, but the event hashes to ${read.hash}: the event was altered`;
  try {
    state.apply(read.event);
  } catch (error) {
    if (error instanceof EvidenceConflictError) return error.message;
    throw error;
  }
  return moments.next(seq, read.event.recorded_at, 'recorded_at');
}
