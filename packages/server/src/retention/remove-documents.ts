import type { Transaction } from '../database/transaction.ts';
import { compress, decompress } from '../documents/compression.ts';
import { SEGMENT_BYTES_MAX } from '../documents/segment-layout.ts';
import type { Segment, StoredDocument } from '../storage/document-segments.ts';
import { deleteSegments, lockSegments, replaceSegment } from '../storage/segment-removal.ts';

/** The number of segments in memory at once. Each can have about 512 KiB. */
const SEGMENTS_AT_ONCE = 8;

/**
 * Removes documents of deleted rows from their segments. Their bytes are replaced by zeros, so that the other documents keep their places.
 * A segment with only zeros is deleted, because every stored document contains other bytes.
 * @returns the segments that could not be decompressed. They are left, because they were changed outside the server.
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
      const left = await blank(segment, bySegment.get(segment.id)!);
      if (left === undefined) unreadable.push(segment.id);
      else if (left.equals(Buffer.alloc(left.length))) emptied.push(segment.id);
      else replaceSegment(tx, segment.id, await compress(left));
    }
    deleteSegments(tx, emptied);
  }
  return unreadable;
}

/** The decompressed bytes of a segment without these documents. */
async function blank({ bytes, compressed }: Segment, documents: readonly StoredDocument[]): Promise<Buffer | undefined> {
  const longest = documents.reduce((max, { length }) => Math.max(max, length!), SEGMENT_BYTES_MAX);
  const raw = bytes > longest ? undefined : await decompress(compressed, bytes).catch(() => undefined);
  for (const { offset, length } of documents) raw?.fill(0, offset!, offset! + length!);
  return raw;
}
