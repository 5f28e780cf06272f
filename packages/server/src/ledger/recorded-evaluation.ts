import { readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { evaluationOfEvent, type KnownEvaluation } from '@countersign/core/domain/evidence-state';
import type { Transaction } from '../database/transaction.ts';
import { findEvaluationEvent } from '../storage/evidence-events.ts';
import type { StoredHead } from '../storage/log-heads.ts';
import { isIncluded, LogRewrittenError } from './log-tree.ts';
import { readStoredEvent } from './stored-event.ts';

/** An evaluation in the evidence log, without its approval. */
export type RecordedEvaluation = Omit<KnownEvaluation, 'approval'>;

/**
 * Finds any evaluation of the log, also one that is not in memory because promotion checks cannot use it. The event must be in the tree
 * of the sealed head. Returns undefined if the log has no such evaluation.
 * @throws LogRewrittenError if the event was changed outside the server.
 */
export async function findRecordedEvaluation(
  tx: Transaction,
  head: Pick<StoredHead, 'seq' | 'tree'>,
  evaluationId: string,
): Promise<RecordedEvaluation | undefined> {
  const row = await findEvaluationEvent(tx, head.seq, evaluationId);
  if (row === undefined) return undefined;
  const rewritten = (fault: string) =>
    new LogRewrittenError(`the log evidence of tenant ${tx.tenantId}: event ${row.seq}: ${fault}`);
  const read = readStoredEvent(row, { seq: row.seq, tenantId: tx.tenantId }, readEvidenceEvent);
  if ('fault' in read) throw rewritten(read.fault);
  const { event } = read;
  if (event.action !== 'evaluation.recorded' || event.evaluation_id !== evaluationId)
    throw rewritten(`it does not record the evaluation ${evaluationId}`);
  if (!(await isIncluded(tx, 'evidence', { seq: row.seq, leafData: Buffer.from(row.event_hash, 'hex') }, head)))
    throw rewritten(`it does not match the sealed head, which covers ${head.seq} events`);
  const { approval: _, ...evaluation } = evaluationOfEvent(event);
  return evaluation;
}
