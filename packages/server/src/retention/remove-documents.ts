import { hash } from 'node:crypto';
import type { Transaction } from '../database/transaction.ts';
import { compress, decompress } from '../documents/compression.ts';
import { SEGMENT_BYTES_MAX } from '../documents/segment-layout.ts';
import type { LoggedSubmission } from '../ledger/logged-submissions.ts';
import { submissionName } from '../ledger/row-findings.ts';
import { documentInRow, documentInSegment, type Segment, type StoredDocument } from '../storage/document-segments.ts';
import type { DeletedSubmission } from '../storage/due-traces.ts';
import { deleteSegments, lockSegments, replaceSegment } from '../storage/segment-removal.ts';
import { changedSubmission } from './require-logged-traces.ts';

/** A document to remove. */
export type DocumentToRemove = StoredDocument & {
  /** The submission that the document belongs to, and the digest of its document in the trace log; undefined for other documents. */
  logged?: { name: string; sha256: string };
};

/** The documents of deleted submissions. @param logged the result of `requireLoggedTraces`. */
export const documentsOf = (
  submissions: readonly DeletedSubmission[],
  logged: ReadonlyMap<string, LoggedSubmission>,
): DocumentToRemove[] =>
  submissions.map((each) => {
    const name = submissionName(each.trace, each.number);
    return { ...each, logged: { name, sha256: logged.get(name)!.documentSha256 } };
  });

/** The largest number of compressed segments in memory at once. A decompressed segment has up to 512 KiB, or one longer document. */
const SEGMENTS_AT_ONCE = 8;

/**
 * Removes documents from their segments. Their bytes are replaced by zeros, so that the offsets of the other documents do not change. A
 * segment that then has only zeros is deleted: it contains no other document, because no document consists of zeros only.
 * @returns the IDs of the segments that are missing, cannot be decompressed, or lack one of the documents. They were changed outside the
 *   server, and are kept as they are.
 * @throws RuleViolationError if a document of a trace is not the one in the trace log. A changed row could refer to the document of another
 *   run, which would then be destroyed.
 */
export async function removeDocuments(tx: Transaction, documents: readonly DocumentToRemove[]): Promise<string[]> {
  const bySegment = new Map<string, DocumentToRemove[]>();
  for (const document of documents) {
    if (document.segment === null) {
      requireLogged(document, documentInRow(document));
      continue;
    }
    const documentsOfSegment = bySegment.get(document.segment);
    if (documentsOfSegment === undefined) bySegment.set(document.segment, [document]);
    else documentsOfSegment.push(document);
  }
  const ids = [...bySegment.keys()].sort();
  const unreadable: string[] = [];
  for (let at = 0; at < ids.length; at += SEGMENTS_AT_ONCE) {
    const batchIds = ids.slice(at, at + SEGMENTS_AT_ONCE);
    const segments = await lockSegments(tx, batchIds);
    const existingIds = new Set(segments.map(({ id }) => id));
    unreadable.push(...batchIds.filter((id) => !existingIds.has(id)));
    const emptiedIds: string[] = [];
    for (const segment of segments) {
      const remaining = await blankDocuments(segment, bySegment.get(segment.id)!);
      if (remaining === undefined) unreadable.push(segment.id);
      else if (remaining.equals(Buffer.alloc(remaining.length))) emptiedIds.push(segment.id);
      else replaceSegment(tx, segment.id, await compress(remaining));
    }
    deleteSegments(tx, emptiedIds);
  }
  return unreadable;
}

/**
 * The decompressed bytes of a segment with zeros in place of these documents. Undefined if the segment cannot be decompressed, or if a
 * document is outside the segment.
 */
async function blankDocuments(
  { bytes, compressed }: Segment,
  documents: readonly DocumentToRemove[],
): Promise<Buffer | undefined> {
  const longest = documents.reduce((max, { length }) => Math.max(max, length!), SEGMENT_BYTES_MAX);
  const raw = bytes > longest ? undefined : await decompress(compressed, bytes).catch(() => undefined);
  if (raw === undefined) return undefined;
  const parts = documents.map((document) => documentInSegment(raw, document));
  for (const [index, document] of documents.entries()) requireLogged(document, parts[index]);
  if (parts.includes(undefined)) return undefined;
  for (const part of parts) part!.fill(0);
  return raw;
}

function requireLogged({ logged }: DocumentToRemove, document: Buffer | undefined): void {
  if (logged === undefined || (document !== undefined && hash('sha256', document, 'hex') === logged.sha256)) return;
  throw changedSubmission(logged.name, 'its document is not the one that the trace log records');
}
