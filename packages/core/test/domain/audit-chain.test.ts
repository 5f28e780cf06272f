import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENTRY_MEMBERS, linkEntries, rowHashOf, type UnlinkedEntry } from '../../src/domain/audit-chain.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { ChainVerifier } from '../../src/domain/chain-verifier.ts';
import { digests } from '../node-digests.ts';
import { vectors } from '../vectors.ts';

const golden = vectors('audit-chain');
const TENANT = '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24';

const unlinked = (index: number, metadata: Record<string, unknown> | null = null): UnlinkedEntry => ({
  tenant_id: TENANT,
  id: `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
  recorded_at: `2026-11-20T09:30:00.${String(index % 1000).padStart(3, '0')}Z`,
  recorded_by: 'key:5f0c2a9be671',
  actor: 'ci',
  action: 'agent.promoted',
  subject: 'bot',
  rationale: null,
  framework: null,
  trace_id: null,
  agent_id: null,
  retention_until: null,
  metadata,
});

/** The rows of a chain as they appear in an export. */
function chain(length: number): Record<string, unknown>[] {
  const entries = Array.from({ length }, (_, index) => unlinked(index, { index }));
  return linkEntries({ seq: 0, rowHash: null }, entries, digests).map(({ entry, rowHash }) => ({ ...entry, row_hash: rowHash }));
}

/** Verifies rows in order and returns the first fault. */
function firstFault(rows: readonly unknown[], tenantId?: string) {
  const verifier = new ChainVerifier(digests, tenantId);
  for (const row of rows) {
    const fault = verifier.next(row);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

describe('audit chain', () => {
  test('produces the same text and hashes as the independent implementation', () => {
    for (const { line, canonical, row_hash: rowHash } of golden.entries) {
      const { row_hash: rowHashInLine, ...entry } = JSON.parse(line);
      expect(canonicalJson(entry)).toBe(canonical);
      expect(rowHashOf(canonical, digests)).toBe(rowHash);
      expect(rowHashInLine).toBe(rowHash);
    }
    expect(firstFault(golden.entries.map(({ line }: { line: string }) => JSON.parse(line)))).toBeUndefined();
  });

  test('does not depend on the sizes of the batches in which its entries were linked', () => {
    const entries = Array.from({ length: 20 }, (_, index) => unlinked(index));
    const rowsOfOneBatch = linkEntries({ seq: 0, rowHash: null }, entries, digests);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 20, maxLength: 20 }), (sizes) => {
        let head = { seq: 0, rowHash: null as string | null };
        const rows = [];
        for (let at = 0, step = 0; at < entries.length; at += sizes[step++]!) {
          const batch = linkEntries(head, entries.slice(at, at + sizes[step]!), digests);
          rows.push(...batch);
          head = { seq: batch.at(-1)!.entry.seq, rowHash: batch.at(-1)!.rowHash };
        }
        expect(rows).toEqual(rowsOfOneBatch);
      }),
    );
  });

  test('verifies an intact chain and reports its last row as the head', () => {
    const verifier = new ChainVerifier(digests);
    const rows = chain(5);
    for (const row of rows) expect(verifier.next(row)).toBeUndefined();
    expect(verifier.head).toEqual({ seq: 5, rowHash: rows.at(-1)!.row_hash });
  });

  test.each([...ENTRY_MEMBERS, 'row_hash'])('reports the row whose %s was changed', (member) => {
    const changed: Record<string, unknown> = {
      version: 2,
      seq: 9,
      metadata: { index: 7 },
      prev_hash: '0'.repeat(64),
      row_hash: '0'.repeat(64),
      recorded_at: '2026-11-20T09:30:00.999Z',
    };
    const rows = chain(4).map((row, index) => (index === 2 ? { ...row, [member]: changed[member] ?? 'changed' } : row));
    expect(firstFault(rows, TENANT)).toMatchObject({ seq: 3 });
  });

  test('reports the first row that is missing, swapped, repeated, malformed or of another tenant', () => {
    const rows = chain(6);
    const [first, second, third] = rows as [Record<string, unknown>, Record<string, unknown>, Record<string, unknown>];
    const { subject: _, ...incomplete } = third;
    const cases: [string, unknown[], number][] = [
      ['removed', rows.filter((_row, index) => index !== 2), 3],
      ['first removed', rows.slice(1), 1],
      ['swapped', [first, third, second, ...rows.slice(3)], 2],
      ['repeated', [first, first, second], 2],
      ['an additional member', [first, second, { ...third, approver: 'x' }], 3],
      ['a missing member', [first, second, incomplete], 3],
      ['not an object', [first, 'row'], 2],
      ['another tenant', [first, second, { ...third, tenant_id: 'ffffffff-0000-4000-8000-000000000000' }], 3],
    ];
    for (const [name, altered, seq] of cases) expect(firstFault(altered), name).toMatchObject({ seq });
    expect(firstFault(rows, 'ffffffff-0000-4000-8000-000000000000')).toMatchObject({ seq: 1 });
  });

  test('reports a row whose time is before that of the previous row, even if its hash is correct', () => {
    const entries = [unlinked(5), { ...unlinked(6), recorded_at: '2026-11-20T09:29:59.000Z' }];
    const rows = linkEntries({ seq: 0, rowHash: null }, entries, digests).map(({ entry, rowHash }) => ({
      ...entry,
      row_hash: rowHash,
    }));
    expect(firstFault(rows)?.reason).toContain('is earlier than recorded_at of the previous row');
  });

  test('detects any change of metadata', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (metadata, other) => {
        fc.pre(
          wellFormed(metadata) &&
            wellFormed(other) &&
            canonicalJson(JSON.parse(JSON.stringify(metadata))) !== canonicalJson(JSON.parse(JSON.stringify(other))),
        );
        const [row] = linkEntries({ seq: 0, rowHash: null }, [unlinked(0, JSON.parse(JSON.stringify(metadata)))], digests);
        expect(
          firstFault([{ ...row!.entry, metadata: JSON.parse(JSON.stringify(other)), row_hash: row!.rowHash }]),
        ).toMatchObject({
          seq: 1,
        });
      }),
    );
  });
});

const wellFormed = (value: unknown): boolean =>
  JSON.stringify(value).isWellFormed() && !/\\ud[89a-f]/i.test(JSON.stringify(value));
