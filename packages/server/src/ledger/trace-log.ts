import { hashTraceEvent, type TraceSubmission } from '@countersign/core/domain/trace-event';
import { type Transaction, underWay } from '../database/transaction.ts';
import { digests } from '../digests.ts';
import { readClock } from '../storage/clock.ts';
import type { LockedHead } from '../storage/log-heads.ts';
import { insertTraceEvent } from '../storage/trace-events.ts';
import { awaitTurn, holdTurn } from '../storage/turns.ts';
import { advance, headBehind, lockLogs } from './advance.ts';
import type { RememberedHeads } from './remembered-heads.ts';

/** An event of the log `traces` for all submissions of a transaction, before it is appended. */
export interface ReservedEvent {
  /** The moment that the rows of the submissions must have. */
  receivedAt: string;
  /** To be called behind the statements that write the rows; `sent` rejects if a statement fails. */
  append(): Promise<{ sent: Promise<unknown> }>;
}

/**
 * The one way to append to a tenant's log `traces`. The head is moved behind the rows, because those are large: other transactions write
 * theirs meanwhile. Where this process remembers the head, the event has its number at once: the transaction holds the turn of that
 * number while it writes its rows, and then waits for the turn before. So everything goes out in one round trip.
 * @param heads where this process left the heads of the logs `traces`.
 * @param clock the database's clock, where it was read: the moment of the rows if the head is not remembered.
 */
export async function reserveTraceEvent(
  tx: Transaction,
  heads: RememberedHeads,
  clock: string | undefined,
  submissions: readonly TraceSubmission[],
): Promise<ReservedEvent> {
  const guessed = heads.take(tx.tenantId);
  if (guessed === undefined) {
    const receivedAt = clock ?? (await readClock(tx));
    return {
      receivedAt,
      append: async () => {
        const { traces: head } = await lockLogs(tx, ['traces']);
        const event = eventBehind(tx, head, receivedAt, submissions);
        heads.remember(tx.tenantId, event.moved);
        return { sent: send(tx, head, event) };
      },
    };
  }
  const event = eventBehind(tx, guessed, guessed.now, submissions);
  heads.remember(tx.tenantId, event.moved);
  const held = underWay(holdTurn(tx, event.seq));
  return {
    receivedAt: guessed.now,
    append: async () => {
      const waited = awaitTurn(tx, guessed.seq);
      return { sent: underWay(Promise.all([held, waited, send(tx, guessed, event)])) };
    },
  };
}

type Event = ReturnType<typeof eventBehind>;

function eventBehind(tx: Transaction, head: LockedHead, receivedAt: string, submissions: readonly TraceSubmission[]) {
  const seq = head.seq + 1;
  const { canonical, hash } = hashTraceEvent(
    {
      version: 1,
      tenant_id: tx.tenantId,
      seq,
      recorded_at: head.now,
      received_at: receivedAt,
      action: 'traces.recorded',
      submissions,
    },
    digests,
  );
  return { seq, canonical, hash, moved: headBehind(head, [Buffer.from(hash, 'hex')], hash).moved };
}

function send(tx: Transaction, head: LockedHead, { seq, canonical, hash }: Event): Promise<unknown> {
  const { sent } = advance(tx, 'traces', head, [Buffer.from(hash, 'hex')], hash);
  return underWay(Promise.all([sent, insertTraceEvent(tx, { seq, eventHash: hash, document: canonical })]));
}
