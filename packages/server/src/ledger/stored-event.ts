import { NESTING_MAX } from '@countersign/core/domain/chain-report';
import type { Digests } from '@countersign/core/domain/digests';
import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import { digests } from '../crypto/digests.ts';
import { parsedDocument } from './stored-document.ts';

/** A row of a log of events. */
export interface StoredEvent {
  seq: number;
  /** Hex. */
  event_hash: string;
  /** Canonical JSON. */
  document: string;
}

/** Checks and hashes an event of one log: readEvidenceEvent, readKeyEvent or readTraceEvent. */
type EventReader<E> = (
  value: unknown,
  expected: { seq: number; tenantId: string },
  digests: Pick<Digests, 'sha256Hex'>,
) => { event: E; canonical: string; hash: string } | { fault: string };

/** Returns the event of a row if the row is unaltered and has the expected number; otherwise its fault. */
export function readStoredEvent<E>(
  row: StoredEvent,
  expected: { seq: number; tenantId: string },
  readEvent: EventReader<E>,
): { event: E } | { fault: string } {
  if (row.seq !== expected.seq) return { fault: `seq is ${row.seq}, expected ${expected.seq}: an event is missing` };
  const document = parsedDocument(row.document);
  if (document === undefined) return { fault: 'the stored document is not a JSON object' };
  if (isNestedDeeperThan(document, NESTING_MAX)) return { fault: `the stored document is nested deeper than ${NESTING_MAX}` };
  const read = readEvent(document, expected, digests);
  if ('fault' in read) return read;
  if (read.canonical !== row.document) return { fault: 'the stored document is not in canonical form: its text was altered' };
  if (read.hash !== row.event_hash)
    return { fault: `event_hash is ${row.event_hash}, but the event hashes to ${read.hash}: the event was altered` };
  return read;
}
