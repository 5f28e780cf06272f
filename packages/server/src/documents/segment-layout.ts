/** A segment takes documents up to this many bytes; a longer one has its own segment. Reading one document decompresses its segment. */
export const SEGMENT_BYTES_MAX = 512 * 1024;

/** Where a document is in the segments of its batch. */
export interface DocumentPlace {
  /** Index of the segment. */
  segment: number;
  /** In the decompressed bytes. */
  offset: number;
}

/** Lays documents out in segments, in order. Returns the documents of each segment, and the place of each document. */
export function layOutSegments(documents: readonly Buffer[]): { segments: Buffer[][]; places: DocumentPlace[] } {
  const segments: Buffer[][] = [];
  let bytes = 0;
  const places = documents.map((document): DocumentPlace => {
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
