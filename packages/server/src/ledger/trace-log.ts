import {
  readTraceEvent,
  type TraceDropEvent,
  type TraceLogEvent,
  type TraceSubmission,
} from '@countersign/core/domain/trace-event';
import { digests } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { readClock } from '../storage/clock.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { insertTraceEvent } from '../storage/trace-events.ts';
import { awaitTurn, takeTurn } from '../storage/turns.ts';
import { lockLogs, moveLog, type NextHead, nextHead } from './advance.ts';
import { guessHead, type RememberedHeads } from './remembered-heads.ts';
import { requireValidEvent } from './valid-event.ts';

/** An event of the trace log for all submissions of a transaction. It is not appended yet. */
export interface ReservedEvent {
  /** The time that the rows of the submissions must have. */
  receivedAt: string;
  /** Appends the event. Call it after the statements that write the rows. */
  append(): Promise<void>;
}

/**
 * Prepares the event of a transaction's submissions in a tenant's trace log. The head is moved after the rows are written. The rows are
 * large, and this order lets another transaction write its rows at the same time. If this process remembers the head, the number of the
 * event is known before the rows are written, and no round trip is added. The transaction then takes the turn with that number, writes its
 * rows, and waits for the previous turn (storage/turns.ts).
 * @param heads the heads of the trace logs that this process remembers.
 * @param clock the time of the database, if the caller has read it. Used as the time of the rows if the head is not remembered.
 */
export async function reserveTraceEvent(
  tx: Transaction,
  heads: RememberedHeads,
  clock: string | undefined,
  submissions: readonly TraceSubmission[],
): Promise<ReservedEvent> {
  const guess = guessHead(tx, 'traces', heads);
  const guessed = guess instanceof Promise ? await guess : guess;
  if (guessed === undefined) {
    const receivedAt = clock ?? (await readClock(tx));
    return {
      receivedAt,
      append: async () => {
        const { traces: head } = await lockLogs(tx, ['traces']);
        const event = nextEvent(tx, head, receivedAt, submissions);
        heads.remember(tx.tenantId, event.next.moved);
        send(tx, event);
      },
    };
  }
  const event = nextEvent(tx, guessed, guessed.now, submissions);
  heads.remember(tx.tenantId, event.next.moved);
  takeTurn(tx, event.next.moved.seq);
  return {
    receivedAt: guessed.now,
    append: async () => {
      awaitTurn(tx, guessed.seq);
      send(tx, event);
    },
  };
}

/** The canonical text and the hash of an event, and the head after it. */
interface PreparedEvent {
  canonical: string;
  hash: string;
  next: NextHead;
}

function nextEvent(
  tx: Transaction,
  head: HeadToMove,
  receivedAt: string,
  submissions: readonly TraceSubmission[],
): PreparedEvent {
  return prepareEvent(tx, head, {
    version: 1,
    tenant_id: tx.tenantId,
    seq: head.seq + 1,
    recorded_at: head.now,
    received_at: receivedAt,
    action: 'traces.recorded',
    submissions,
  });
}

function prepareEvent(tx: Transaction, head: HeadToMove, event: TraceLogEvent): PreparedEvent {
  const read = readTraceEvent(event, { seq: head.seq + 1, tenantId: tx.tenantId }, digests);
  const { canonical, hash } = requireValidEvent(tx, 'traces', read);
  return { canonical, hash, next: nextHead(head, [Buffer.from(hash, 'hex')], hash) };
}

function send(tx: Transaction, { canonical, hash, next }: PreparedEvent): void {
  moveLog(tx, 'traces', next);
  insertTraceEvent(tx, { seq: next.moved.seq, eventHash: hash, document: canonical });
}

/** Appends an event for dropped traces at the locked head of the trace log. Returns the number of the event. */
export function appendDropEvent(
  tx: Transaction,
  head: HeadToMove,
  dropped: Pick<TraceDropEvent, 'reason' | 'traces' | 'exports'>,
): number {
  const event: TraceDropEvent = {
    version: 1,
    tenant_id: tx.tenantId,
    seq: head.seq + 1,
    recorded_at: head.now,
    action: 'traces.dropped',
    ...dropped,
  };
  send(tx, prepareEvent(tx, head, event));
  return event.seq;
}
