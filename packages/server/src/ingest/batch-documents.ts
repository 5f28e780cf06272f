import type { Transaction } from '../database/transaction.ts';
import { compress } from '../documents/compression.ts';
import { layOutSegments } from '../documents/segment-layout.ts';
import { type DocumentPlace, insertSegments, type Segment } from '../storage/document-segments.ts';
import { newId } from '../storage/new-id.ts';

/** Below this total size, documents stay in their rows: a segment's own row and index entry would take the space that compression saves. */
const SEGMENT_BYTES_MIN = 2048;

/** The documents of a batch. They are compressed before the batch's transaction begins, so usually no locks are held during compression. */
export class BatchDocuments {
  readonly #documents: ReadonlySet<Buffer>;
  readonly #segments: readonly Segment[];
  readonly #places: ReadonlyMap<Buffer, DocumentPlace>;

  private constructor(documents: ReadonlySet<Buffer>, segments: readonly Segment[], places: ReadonlyMap<Buffer, DocumentPlace>) {
    this.#documents = documents;
    this.#segments = segments;
    this.#places = places;
  }

  /** For batches without documents. */
  static readonly none = new BatchDocuments(new Set(), [], new Map());

  /** Compresses documents together, unless they are small. */
  static async compress(documents: readonly Buffer[]): Promise<BatchDocuments> {
    const distinct = new Set(documents);
    const bytes = documents.reduce((sum, { length }) => sum + length, 0);
    if (bytes < SEGMENT_BYTES_MIN) return new BatchDocuments(distinct, [], new Map());
    const { segments: parts, places } = layOutSegments([...distinct]);
    const segments = await Promise.all(parts.map(segmentOf));
    const placeOf = (document: Buffer, index: number): [Buffer, DocumentPlace] => {
      const { segment, offset } = places[index]!;
      return [document, { segment: segments[segment]!.id, offset, length: document.length }];
    };
    return new BatchDocuments(distinct, segments, new Map([...distinct].map(placeOf)));
  }

  /**
   * Stores the segments of the documents in `accepted`, and returns the places of these documents. If `accepted` lacks documents of the
   * batch, the documents in `accepted` are compressed again, so that documents of rejected and replayed requests are not stored.
   * @param accepted the documents of requests that are neither rejected nor replayed.
   */
  store(tx: Transaction, accepted: readonly Buffer[]): DocumentPlaces | Promise<DocumentPlaces> {
    if (new Set(accepted).size < this.#documents.size)
      return BatchDocuments.compress(accepted).then((fewer) => fewer.store(tx, accepted));
    if (this.#segments.length > 0) insertSegments(tx, this.#segments);
    return (document) => this.#places.get(document) ?? null;
  }
}

/** Returns the place of a document of a batch; null if it stays in its own row. */
export type DocumentPlaces = (document: Buffer) => DocumentPlace | null;

async function segmentOf(documents: readonly Buffer[]): Promise<Segment> {
  const raw = documents.length === 1 ? documents[0]! : Buffer.concat(documents);
  return { id: newId(), bytes: raw.length, compressed: await compress(raw) };
}
