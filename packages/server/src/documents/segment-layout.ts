/**
 * The maximum total size of a segment's documents, in bytes. It is limited because reading one document decompresses the whole segment. A
 * longer document has its own segment.
 */
export const SEGMENT_BYTES_MAX = 512 * 1024;

/** The place of a document in the segments of its batch. */
export interface PlaceInBatch {
  /** Index of the segment. */
  segment: number;
  /** The position in the decompressed bytes of the segment. */
  offset: number;
}

/** Lays documents out in segments, in order. Returns the documents of each segment, and the place of each document. */
export function layOutSegments(documents: readonly Buffer[]): { segments: Buffer[][]; places: PlaceInBatch[] } {
  const segments: Buffer[][] = [];
  let bytes = 0;
  const places = documents.map((document): PlaceInBatch => {
    if (segments.length === 0 || bytes + document.length > SEGMENT_BYTES_MAX) {
      segments.push([]);
      bytes = 0;
    }
    const offset = bytes;
    segments.at(-1)!.push(document);
    bytes += document.length;
    return { segment: segments.length - 1, offset };
  });
  return { segments, places };
}
