import type { ChainReport } from '@countersign/core/domain/chain-report';
import type { RowTimes } from '@countersign/core/domain/clock-correction';
import { evidenceFault } from '@countersign/core/domain/evidence-verifier';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { type DecisionColumns, readDecisionColumns } from '../storage/decisions.ts';
import { EvidenceReplay } from './evidence-replay.ts';
import { readSignedDecision } from './signed-decision.ts';
import { columnFault, parsedDocument } from './stored-document.ts';
import { type RowCheck, type WalkOptions, walkLog } from './walk-log.ts';

/** Derives a tenant's decision key from the master secret. */
export type DecisionKeyOf = (tenantId: string, keyId: string) => Uint8Array;

/**
 * Verifies a tenant's decisions in the database: digest, signature and columns of each, gaps, head, tree and checkpoints. Also checks that
 * the evidence of each decision follows from the evidence log.
 */
export async function verifyDecisions(
  pool: Pool,
  tenantId: string,
  keyOf: DecisionKeyOf,
  options: WalkOptions = {},
): Promise<ChainReport> {
  const keys = new Map<string, Uint8Array>();
  const replay = new EvidenceReplay(pool, tenantId);
  const check = (row: DecisionColumns, seq: number, times: RowTimes): RowCheck | Promise<RowCheck> => {
    const resultOf = (fault: string | undefined): RowCheck => (fault === undefined ? { hash: row.response_sha256 } : { fault });
    const fault = rowFault(
      row,
      seq,
      (keyId) => {
        if (!keys.has(keyId)) keys.set(keyId, keyOf(tenantId, keyId));
        return keys.get(keyId)!;
      },
      times,
    );
    if (fault !== undefined) return resultOf(fault);
    const replayed = replay.fault(parsedDocument(row.document)!, row.evidence);
    return replayed instanceof Promise ? replayed.then(resultOf) : resultOf(replayed);
  };
  return walkLog(pool, tenantId, { log: 'decisions', isChained: false, read: readDecisionColumns, check }, options);
}

function rowFault(row: DecisionColumns, seq: number, keyOf: (keyId: string) => Uint8Array, times: RowTimes): string | undefined {
  if (row.seq !== seq) return `seq is ${row.seq}, expected ${seq}: a decision is missing`;
  const read = readSignedDecision(row.document, keyOf);
  if ('fault' in read) return read.fault;
  const { decision } = read;
  // The signature covers the content of the text. This comparison finds duplicate members, and values in another notation.
  if (JSON.stringify(decision) !== row.document) return 'the stored document is not as it was written: its text was altered';
  const { decision_id: id, timestamp, asked_by: askedBy } = decision;
  // Older versions did not sign who requested the decision, so the column recorded_by of their decisions cannot be checked.
  const columns = { ...decision, id, recorded_at: timestamp, recorded_by: askedBy ?? row.recorded_by };
  return (
    times.next(seq, timestamp, 'timestamp') ??
    columnFault(columns, row, COLUMNS) ??
    evidenceFault(decision, row.evidence, digests)
  );
}

/** The columns for search. The portal shows them, so they must match the signed document. */
const COLUMNS = [
  'id',
  'recorded_at',
  'recorded_by',
  'agent_id',
  'evaluation_id',
  'allowed',
  'reason',
  'event',
  'response_sha256',
] as const satisfies readonly (keyof DecisionColumns)[];
