import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AcceptedRestore } from '../../src/domain/accepted-restore.ts';
import { Frontier } from '../../src/domain/merkle-tree.ts';
import { type KeptHead, TreeVerifier } from '../../src/domain/tree-verifier.ts';
import { sha256 } from '../node-digests.ts';

const TENANT = '11111111-1111-4111-8111-111111111111';
const leaf = (row: number, version = 0): Uint8Array => Buffer.from(`row ${row}, version ${version}`);

/** The root of the first `size` rows. */
function rootOf(size: number, version = 0): Uint8Array {
  const tree = new Frontier(sha256);
  for (let row = 1; row <= size; row += 1) tree.append(leaf(row, version));
  return tree.root();
}

const headOf = (size: number, members: Partial<KeptHead> = {}): KeptHead => ({
  source: `head ${size}`,
  size,
  root: rootOf(size),
  ...members,
});

/** The contradiction between a log of `rows` rows and these heads; undefined if there is none. */
function contradictionOf(rows: number, heads: readonly KeptHead[], restores?: readonly AcceptedRestore[]) {
  const verifier = new TreeVerifier(sha256, heads);
  for (let row = 1; row <= rows; row += 1) verifier.append(leaf(row));
  return verifier.end('audit', TENANT, restores);
}

describe('a log and its kept heads', () => {
  test('agree for heads of all sizes in any order, even if a head covers no rows', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 40, max: 60 }), (headSizes, rows) => {
        expect(
          contradictionOf(
            rows,
            headSizes.map((size) => headOf(size)),
          ),
        ).toBeUndefined();
      }),
    );
  });

  test('disagree when any row that the head covers differs', () => {
    const rows = fc.integer({ min: 1, max: 40 });
    fc.assert(
      fc.property(rows, rows, (size, changed) => {
        const verifier = new TreeVerifier(sha256, [headOf(size)]);
        for (let row = 1; row <= 40; row += 1) verifier.append(leaf(row, row === changed ? 1 : 0));
        const found = verifier.end('audit', TENANT);
        if (changed <= size) expect(found).toMatchObject({ source: `head ${size}`, size });
        else expect(found).toBeUndefined();
      }),
    );
  });

  test('the contradiction names the largest head up to which the rows are unchanged', () => {
    const verifier = new TreeVerifier(sha256, [headOf(2), headOf(5), headOf(8)]);
    for (let row = 1; row <= 8; row += 1) verifier.append(leaf(row, row === 7 ? 1 : 0));
    const { size, reason } = verifier.end('audit', TENANT)!;
    expect([size, reason]).toEqual([8, expect.stringContaining('the first 5 rows match head 5')]);
  });

  test('a head that covers more rows than the log has is reported as a contradiction', () => {
    expect(contradictionOf(3, [headOf(2), headOf(4), headOf(9)])).toMatchObject({
      source: 'head 9',
      size: 9,
      reason: expect.stringContaining('it covers 9 rows, but the log ends after 3'),
    });
  });

  test('heads can be added while rows are read', () => {
    const verifier = new TreeVerifier(sha256);
    verifier.append(leaf(1));
    verifier.add([headOf(1, { root: rootOf(1, 1) })]);
    expect(verifier.end('audit', TENANT)).toMatchObject({ size: 1, reason: expect.stringContaining('the log was rewritten') });
  });

  test('only the first contradiction is reported', () => {
    const verifier = new TreeVerifier(sha256, [headOf(9)]);
    verifier.contradict({ source: 'first', size: 0, reason: 'one' });
    verifier.contradict({ source: 'second', size: 0, reason: 'two' });
    expect(verifier.end('audit', TENANT)).toEqual({ source: 'first', size: 0, reason: 'one' });
  });

  test('the reason of the contradiction also mentions an accepted restore that abandoned the head', () => {
    const restore = { abandoned: { size: 4, root: rootOf(4) }, restored: { size: 3, root: rootOf(3) } };
    const { reason } = contradictionOf(3, [headOf(4)], [{ seq: 3, logs: { audit: restore } }])!;
    const { reason: unexplained } = contradictionOf(3, [headOf(4)])!;
    expect(reason.startsWith(unexplained)).toBe(true);
    expect(reason.length).toBeGreaterThan(unexplained.length);
  });
});

describe('signed heads', () => {
  const origin = `countersign/${TENANT}`;

  test('with the same size and different roots are a fork', () => {
    const forked = headOf(2, { source: 'other', root: rootOf(2, 1), origin });
    expect(contradictionOf(2, [headOf(2, { origin }), forked])).toMatchObject({
      source: 'other',
      reason: expect.stringContaining(
        'it and head 2 have the same size but different roots: the log was forked; both are signed',
      ),
    });
  });

  test.each([
    ['another tenant', 'countersign/22222222-2222-4222-8222-222222222222'],
    ['another log', `${origin}/decisions`],
  ])('of %s are rejected, even if the root matches', (_, other) => {
    expect(contradictionOf(2, [headOf(2, { origin: other })])).toMatchObject({
      size: 0,
      reason: expect.stringContaining(`the checkpoint belongs to ${JSON.stringify(other)}, but this log is ${origin}`),
    });
  });

  test('must all name the same tenant when the rows name none', () => {
    const verifier = new TreeVerifier(sha256, [headOf(0, { origin }), headOf(1, { origin: `${origin}2` })]);
    verifier.append(leaf(1));
    expect(verifier.end('audit', undefined)).toMatchObject({ source: 'head 1', size: 0 });
  });
});
