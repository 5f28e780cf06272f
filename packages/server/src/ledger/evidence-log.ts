import { type EvidenceEvent, type EvidenceFact, readEvidenceEvent } from '@countersign/core/domain/evidence-event';
import { digests } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { insertEvidenceEvents } from '../storage/evidence-events.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { advanceHead } from './advance.ts';
import { evidenceStates } from './evidence-states.ts';
import { requireValidEvent } from './valid-event.ts';

/** A fact to append, and who recorded it. */
export type NewFact = EvidenceFact & { recorded_by: string };

/**
 * Appends events to a tenant's evidence log at its locked head. They are committed, and take effect, with the caller's transaction.
 * Nothing else appends to this log.
 * @returns the head after these events.
 */
export function appendEvidence(tx: Transaction, head: HeadToMove, facts: readonly NewFact[]): HeadToMove {
  const events = facts.map(
    (fact, index) =>
      ({ ...fact, version: 1, tenant_id: tx.tenantId, seq: head.seq + 1 + index, recorded_at: head.now }) as EvidenceEvent,
  );
  const hashed = events.map((event, index) =>
    requireValidEvent(tx, 'evidence', readEvidenceEvent(event, { seq: head.seq + 1 + index, tenantId: tx.tenantId }, digests)),
  );
  const leafData = hashed.map(({ hash }) => Buffer.from(hash, 'hex'));
  const { moved } = advanceHead(tx, 'evidence', head, leafData, null);
  insertEvidenceEvents(
    tx,
    hashed.map(({ canonical, hash }, index) => ({ seq: events[index]!.seq, eventHash: hash, document: canonical })),
  );
  tx.afterCommit(() => evidenceStates.applyCommitted(tx, head, events, leafData));
  return moved;
}
