import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Transaction } from '../../src/database/transaction.ts';
import { compress, decompress } from '../../src/documents/compression.ts';
import { layOutSegments, SEGMENT_BYTES_MAX } from '../../src/documents/segment-layout.ts';
import { BatchDocuments } from '../../src/ingest/batch-documents.ts';

const sizes = fc.array(fc.integer({ min: 0, max: SEGMENT_BYTES_MAX * 1.5 }), { maxLength: 20 });

describe('segment layout', () => {
  test('places every document in one range, and only a segment with one document exceeds the maximum size', () => {
    fc.assert(
      fc.property(sizes, (lengths) => {
        const documents = lengths.map((length, index) => Buffer.alloc(length, index + 1));
        const { segments, places } = layOutSegments(documents);
        const raw = segments.map((each) => Buffer.concat(each));
        documents.forEach((document, index) => {
          const { segment, offset } = places[index]!;
          expect(raw[segment]!.subarray(offset, offset + document.length).equals(document)).toBe(true);
        });
        expect(segments.flat()).toEqual(documents);
        expect(segments.filter((each) => each.length > 1 && Buffer.concat(each).length > SEGMENT_BYTES_MAX)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  test('decompress returns exactly what was compressed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 100_000 }), async (bytes) => {
        const raw = Buffer.from(bytes);
        expect((await decompress(await compress(raw), raw.length)).equals(raw)).toBe(true);
      }),
    );
  });

  test('decompress rejects damaged and truncated bytes, and bytes whose decompressed length differs from the stated length', async () => {
    const raw = Buffer.from(JSON.stringify({ messages: 'a message '.repeat(1000) }));
    const compressed = await compress(raw);
    await expect(decompress(compressed.subarray(0, -1), raw.length)).rejects.toThrow();
    await expect(decompress(Buffer.alloc(100, 0xff), raw.length)).rejects.toThrow();
    await expect(decompress(compressed, raw.length - 1)).rejects.toThrow();
    await expect(decompress(compressed, raw.length + 1)).rejects.toThrow('instead of');
  });
});

describe('BatchDocuments', () => {
  const documentOf = (marker: string) => Buffer.from(JSON.stringify({ marker, text: `${marker} `.repeat(500) }));
  const transaction = (sentValues: (readonly unknown[])[]) =>
    ({ tenantId: '0', send: (_: unknown, values: readonly unknown[]) => void sentValues.push(values) }) as unknown as Transaction;

  test('stores no segment with a rejected document', async () => {
    const [kept, rejected] = [documentOf('kept'), documentOf('rejected')];
    const batch = await BatchDocuments.compress([kept, rejected]);
    const stored: (readonly unknown[])[] = [];
    const placeInWholeBatch = await batch.store(transaction([]), [kept, rejected]);
    const placeOf = await batch.store(transaction(stored), [kept]);
    expect(placeInWholeBatch(rejected)).toMatchObject({ offset: kept.length, length: rejected.length });
    expect(placeOf(rejected)).toBe(null);
    expect(placeOf(kept)).toMatchObject({ offset: 0, length: kept.length });
    expect(placeOf(kept)!.segment).not.toBe(placeInWholeBatch(kept)!.segment);
    expect(stored).toHaveLength(1);
  });

  test('leaves small documents in their rows and stores no segment', async () => {
    const documents = ['a', 'b'].map((text) => Buffer.from(JSON.stringify({ text })));
    const stored: (readonly unknown[])[] = [];
    const placeOf = await (await BatchDocuments.compress(documents)).store(transaction(stored), documents);
    expect(documents.map(placeOf)).toEqual([null, null]);
    expect(stored).toEqual([]);
  });
});
