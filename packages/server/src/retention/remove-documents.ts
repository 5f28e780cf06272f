import type { Transaction } from '../database/transaction.ts';
import { compress, decompress } from '../documents/compression.ts';
import { SEGMENT_BYTES_MAX } from '../documents/segment-layout.ts';
import type { Segment, StoredDocument } from '../storage/document-segments.ts';
import { deleteSegments, lockSegments, replaceSegment } from '../storage/segment-removal.ts';

/** The largest number of compressed segments in memory at once. A decompressed segment has up to 512 KiB, or one longer document. */
const SEGMENTS_AT_ONCE = 8;

/**
 * Removes documents from their segments. Their bytes are replaced by zeros, so that the other documents keep their places. A segment that
 * then has only zeros is deleted: it contains no other document, because no document consists of zeros only.
 * @returns the IDs of the segments that could not be decompressed. They were changed outside the server, and are kept as they are.
 */
export async function removeDocuments(tx: Transaction, documents: readonly StoredDocument[]): Promise<string[]> {
  const bySegment = new Map<string, StoredDocument[]>();
  for (const document of documents) {
    if (document.segment === null) continue;
    const others = bySegment.get(document.segment);
    if (others === undefined) bySegment.set(document.segment, [document]);
    else others.push(document);
  }
  const ids = [...bySegment.keys()].sort();
  const unreadable: string[] = [];
  for (let at = 0; at < ids.length; at += SEGMENTS_AT_ONCE) {
    const segments = await lockSegments(tx, ids.slice(at, at + SEGMENTS_AT_ONCE));
    const emptied: string[] = [];
    for (const segment of segments) {
      const remaining = await blank(segment, bySegment.get(segment.id)!);
      if (remaining === undefined) unreadable.push(segment.id);
      else if (remaining.equals(Buffer.alloc(remaining.length))) emptied.push(segment.id);
      else replaceSegment(tx, segment.id, await compress(remaining));
    }
    deleteSegments(tx, emptied);
  }
  return unreadable;
}

/** The decompressed bytes of a segment with zeros in place of these documents; undefined if it cannot be decompressed. */
async function blank({ bytes, compressed }: Segment, documents: readonly StoredDocument[]): Promise<Buffer | undefined> {
  const longest = documents.reduce((max, { length }) => Math.max(max, length!), SEGMENT_BYTES_MAX);
  const raw = bytes > longest ? undefined : await decompress(compressed, bytes).catch(() => undefined);
  for (const { offset, length } of documents) raw?.fill(0, offset!, offset! + length!);
  return raw;
}
