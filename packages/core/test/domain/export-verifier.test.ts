import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linkEntries, rowHashOf, type UnlinkedEntry } from '../../src/domain/audit-chain.ts';
import { type ExportExpectation, verifyExport } from '../../src/domain/export-verifier.ts';
import { Frontier } from '../../src/domain/merkle-tree.ts';
import { logOf } from '../../src/domain/row-verifier.ts';
import { digests, sha256 } from '../node-digests.ts';

const TENANT = '11111111-1111-4111-8111-111111111111';
const entry = (row: number, tenant = TENANT): UnlinkedEntry => ({
  tenant_id: tenant,
  id: `22222222-2222-4222-8222-${String(row).padStart(12, '0')}`,
  recorded_at: `2026-11-21T08:00:${String(row).padStart(2, '0')}.000Z`,
  recorded_by: 'key:000000000000',
  actor: 'ci',
  action: 'test',
  subject: null,
  rationale: null,
  framework: null,
  trace_id: null,
  agent_id: null,
  retention_until: null,
  metadata: { a: 1, b: 2 },
});
const rows = linkEntries(
  { seq: 0, rowHash: null },
  [1, 2, 3, 4, 5].map((row) => entry(row)),
  digests,
);
const lineOf = (text: string, hash: string) => `${text.slice(0, -1)},"row_hash":"${hash}"}\n`;
const lines = rows.map(({ canonical, rowHash }) => lineOf(canonical, rowHash));

/** Verifies a text that arrives in chunks of `chunkBytes` bytes. */
const verify = (text: string, expectation: ExportExpectation = {}, chunkBytes = text.length + 1) =>
  verifyExport(
    (async function* () {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
    })(),
    { digests, sha256 },
    expectation,
  );

test.each([
  ['audit', { row_hash: '00' }],
  ['decisions', { seq: 1, decision: {} }],
  ['traces', { submissions: [], action: 'traces.recorded' }],
  ['traces', { action: 'traces.dropped', traces: [] }],
  ['evidence', { action: 'agent.registered' }],
] as const)('a row of the log %s is recognized: %j', (log, row) => {
  expect(logOf(row)).toBe(log);
});

describe('export of the audit ledger', () => {
  test('is valid for any chunk size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 2000 }), async (chunkBytes) => {
        const report = await verify(lines.join(''), {}, chunkBytes);
        expect(report).toMatchObject({ tenantId: TENANT, entries: 5, head: rows[4]!.rowHash, firstBad: undefined });
      }),
      { numRuns: 30 },
    );
  });

  test('without rows has no head and no fault', async () => {
    expect(await verify('')).toMatchObject({ entries: 0, head: null, firstBad: undefined, contradiction: undefined });
  });

  test.each([
    ['a missing row', [0, 1, 3, 4], 3],
    ['a repeated row', [0, 1, 1, 2], 3],
    ['rows out of order', [0, 2, 1], 2],
    ['a missing first row', [1, 2], 1],
  ])('with %s is invalid at the first wrong row', async (_, order, seq) => {
    const { entries, firstBad } = await verify(order.map((at) => lines[at]).join(''));
    expect([entries, firstBad?.seq]).toEqual([seq - 1, seq]);
  });

  test('with one changed character is invalid, or has another number of rows or another head', async () => {
    const text = lines.join('');
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: text.length - 2 }), fc.integer({ min: 1, max: 127 }), async (at, shift) => {
        const code = 32 + ((text.charCodeAt(at) - 32 + shift) % 95);
        fc.pre(code !== text.charCodeAt(at));
        const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
        const { firstBad, entries, head } = await verify(changed);
        expect(firstBad !== undefined || entries !== 5 || head !== rows[4]!.rowHash).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ['not UTF-8', Buffer.from([0xff, 0x0a]), /the line is not UTF-8/],
    ['not JSON', Buffer.from('{"seq":1\n'), /JSON/],
    ['not an object', Buffer.from('[]\n'), /object/],
  ])('with a line that is %s is invalid at that line', async (_, bytes, reason) => {
    const report = await verifyExport(
      (async function* () {
        yield Buffer.from(lines[0]!);
        yield bytes;
      })(),
      { digests, sha256 },
    );
    expect(report).toMatchObject({ entries: 1, firstBad: { seq: 2, reason: expect.stringMatching(reason) } });
  });

  test('of an unexpected tenant is invalid at its first row', async () => {
    const other = '33333333-3333-4333-8333-333333333333';
    expect(await verify(lines.join(''), { tenantId: other })).toMatchObject({ entries: 0, firstBad: { seq: 1 } });
  });

  test.each([
    ['agrees with', 'the same tenant', TENANT, undefined],
    ['agrees with', 'no tenant', undefined, undefined],
    ['contradicts', 'another tenant', '33333333-3333-4333-8333-333333333333', { source: 'the audit ledger' }],
  ])('%s a supplied audit ledger that names %s', async (_verb, _tenant, auditTenantId, contradiction) => {
    const report = await verify(lines.join(''), { auditTenantId });
    expect(report.firstBad).toBeUndefined();
    if (contradiction === undefined) expect(report.contradiction).toBeUndefined();
    else expect(report.contradiction).toMatchObject(contradiction);
  });

  test('is rejected with the name of its log if it is verified as another log', async () => {
    expect(await verify(lines.join(''), { log: 'decisions' })).toMatchObject({
      firstBad: { seq: 1, misfit: true, reason: expect.stringContaining('this is an export of the log audit') },
    });
  });

  test('contradicts a kept head when its tail was cut off', async () => {
    const tree = new Frontier(sha256);
    for (const { rowHash } of rows) tree.append(Buffer.from(rowHash, 'hex'));
    const keptHeads = [{ source: 'kept', size: 5, root: tree.root() }];
    expect((await verify(lines.join(''), { keptHeads })).contradiction).toBeUndefined();
    expect((await verify(lines.slice(0, 4).join(''), { keptHeads })).contradiction).toMatchObject({ source: 'kept', size: 5 });
  });

  test('reports each row to `progress`', async () => {
    const counts: number[] = [];
    await verify(lines.join(''), { progress: (count) => counts.push(count) });
    expect(counts).toEqual([1, 2, 3, 4, 5]);
  });
});

test('the members of a line may be in any order, but its hash must be computed from the canonical text', async () => {
  const [row] = rows;
  const unordered = row!.canonical.replace('{"a":1,"b":2}', '{"b":2,"a":1}');
  expect(await verify(lineOf(row!.canonical, row!.rowHash))).toMatchObject({ entries: 1, firstBad: undefined });
  expect(await verify(lineOf(unordered, row!.rowHash))).toMatchObject({ entries: 1, firstBad: undefined });
  const { firstBad } = await verify(lineOf(unordered, rowHashOf(unordered, digests)));
  expect(firstBad).toMatchObject({ seq: 1, reason: expect.stringContaining('the row was altered') });
});
