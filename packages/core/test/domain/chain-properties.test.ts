import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ChainedRow, linkEntries, type UnlinkedEntry } from '../../src/domain/audit-chain.ts';
import { ChainVerifier } from '../../src/domain/chain-verifier.ts';
import { Frontier } from '../../src/domain/merkle-tree.ts';
import { sameBytes } from '../../src/domain/signed-note.ts';
import { parseUnsignedHeads, unsignedHeadText } from '../../src/domain/tree-head-header.ts';
import { digests, sha256 } from '../node-digests.ts';

const TENANT = '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24';
const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const textOrNull = fc.option(text);
const entry = fc.record({
  id: fc.uuid(),
  recorded_by: fc.constantFrom('operator', 'key:4f9a02c7d1e6', 'system:promotion-gate'),
  actor: text,
  action: text,
  subject: textOrNull,
  rationale: textOrNull,
  framework: textOrNull,
  trace_id: textOrNull,
  agent_id: fc.option(fc.uuid()),
  retention_until: fc.constantFrom(null, '2036-01-01'),
  metadata: fc.option(fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)), { maxKeys: 3 })),
});
const chain = fc.array(entry, { minLength: 2, maxLength: 40 }).map((entries) =>
  linkEntries(
    { seq: 0, rowHash: null },
    entries.map(
      (each, index): UnlinkedEntry => ({
        ...each,
        metadata: each.metadata === null ? null : { ...each.metadata },
        tenant_id: TENANT,
        recorded_at: new Date(Date.UTC(2026, 10, 20) + index).toISOString(),
      }),
    ),
    digests,
  ),
);

type Row = Record<string, unknown>;
const exportRows = (rows: readonly ChainedRow[]): Row[] =>
  rows.map(({ canonical, rowHash }) => ({ ...JSON.parse(canonical), row_hash: rowHash }));

/** The sequence number of the first row that the verifier rejects; undefined if it accepts all rows. */
function firstBadSeq(rows: readonly Row[]): number | undefined {
  const verifier = new ChainVerifier(digests);
  for (const row of rows) {
    const fault = verifier.next(row);
    if (fault !== undefined) return fault.seq;
  }
  return undefined;
}

/** The root over the first `size` rows. */
function rootOf(rows: readonly Row[], size: number): Uint8Array {
  const tree = new Frontier(sha256);
  for (const { row_hash: hash } of rows.slice(0, size)) tree.append(Buffer.from(hash as string, 'hex'));
  return tree.root();
}

/** The exported rows of a chain, and the index of any row except the last. */
const rowsWithIndex = chain.chain((rows) => fc.record({ rows: fc.constant(exportRows(rows)), index: fc.nat(rows.length - 2) }));

describe('any audit chain', () => {
  test('is valid if it is unchanged, even with the members of its rows in reverse order', () => {
    fc.assert(
      fc.property(chain, (rows) => {
        expect(firstBadSeq(exportRows(rows))).toBeUndefined();
        expect(firstBadSeq(exportRows(rows).map((row) => Object.fromEntries(Object.entries(row).reverse())))).toBeUndefined();
      }),
    );
  });

  test('fails at the row in which a member was changed', () => {
    fc.assert(
      fc.property(
        rowsWithIndex,
        fc.nat(16),
        fc.oneof(text, fc.integer(), fc.constant(null)),
        ({ rows, index }, member, value) => {
          const name = Object.keys(rows[index]!)[member]!;
          fc.pre(rows[index]![name] !== value);
          expect(firstBadSeq(rows.with(index, { ...rows[index], [name]: value }))).toBe(index + 1);
        },
      ),
    );
  });

  test('fails where a row was removed, repeated or swapped with its neighbor', () => {
    fc.assert(
      fc.property(rowsWithIndex, ({ rows, index }) => {
        const [row, next] = [rows[index]!, rows[index + 1]!];
        expect(firstBadSeq(rows.toSpliced(index, 1))).toBe(index + 1);
        expect(firstBadSeq(rows.toSpliced(index, 0, row))).toBe(index + 2);
        expect(firstBadSeq(rows.with(index, next).with(index + 1, row))).toBe(index + 1);
      }),
    );
  });

  test('is valid without its last rows, but its root differs from the root of the complete chain', () => {
    fc.assert(
      fc.property(rowsWithIndex, ({ rows, index }) => {
        expect(firstBadSeq(rows.slice(0, index + 1))).toBeUndefined();
        expect(sameBytes(rootOf(rows, index + 1), rootOf(rows, rows.length))).toBe(false);
      }),
    );
  });

  test('is valid if it was rewritten with correct hashes, but every root that covers the rewritten row differs', () => {
    fc.assert(
      fc.property(rowsWithIndex, ({ rows, index }) => {
        const entries = rows.map(
          ({ row_hash: _hash, version: _version, seq: _seq, prev_hash: _prev, ...unlinked }) =>
            unlinked as unknown as UnlinkedEntry,
        );
        const forged = entries.with(index, { ...entries[index]!, actor: `${entries[index]!.actor}!` });
        const rewritten = exportRows(linkEntries({ seq: 0, rowHash: null }, forged, digests));
        expect(firstBadSeq(rewritten)).toBeUndefined();
        for (let size = 0; size <= rows.length; size += 1)
          expect(sameBytes(rootOf(rows, size), rootOf(rewritten, size))).toBe(size <= index);
      }),
      { numRuns: 40 },
    );
  });
});

describe('kept Countersign-Checkpoint header', () => {
  const root = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const size = fc.integer({ min: 1, max: 999_999_999_999_999 }); // RFC 8941 has integers of at most 15 digits

  test('is parsed with its heads in any order, with or without its name, and with unknown parameters', () => {
    fc.assert(
      fc.property(size, root, size, root, (auditSize, auditRoot, decisionsSize, decisionsRoot) => {
        const audit = unsignedHeadText('audit', auditSize, auditRoot);
        const decisions = unsignedHeadText('decisions', decisionsSize, decisionsRoot);
        for (const header of [
          `${audit}, ${decisions}`,
          `Countersign-Checkpoint: ${decisions},${audit}`,
          ` ${audit};v=2, ${decisions}; new=?1 `,
          `${audit};note="a,b;c";more=1.5, ${decisions}, x.Y/Z;size=0;root=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:`,
        ]) {
          const heads = parseUnsignedHeads(header);
          expect(heads?.get('audit')).toEqual({ size: auditSize, root: Uint8Array.from(auditRoot) });
          expect(heads?.get('decisions')).toEqual({ size: decisionsSize, root: Uint8Array.from(decisionsRoot) });
        }
      }),
    );
  });

  test('is rejected without an exception when its text is malformed', () => {
    const head = unsignedHeadText('audit', 7, new Uint8Array(32));
    for (const malformed of [
      '',
      'audit',
      'audit;size=7',
      head.replace('7', '07'),
      head.replace('7', '-7'),
      head.slice(0, -1),
      `${head}, ${head}`,
      `${head},`,
      `${head} ;new`,
      `${head};note="a`,
      head.replace('7', '0'),
    ])
      expect(parseUnsignedHeads(malformed), malformed).toBeUndefined();
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (any) => void parseUnsignedHeads(any)));
  });
});
