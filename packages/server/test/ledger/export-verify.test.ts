import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digests, sha256 } from '../../src/crypto/digests.ts';
import { exportLog } from '../../src/ledger/export.ts';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import { chunksOf, createSixRows, tamper } from '../fixtures/altered-ledger.ts';
import { runVerifier } from '../harness/independent-verifier.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-ledger-'));
afterAll(() => rmSync(folder, { recursive: true }));

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});

async function exportLedger(tenantId: string): Promise<string> {
  let text = '';
  for await (const { lines } of exportLog(server.open.pool, tenantId, 'audit')) text += lines;
  return text;
}

/** Verifies an export with this project's verifier and with the independent verifier, which share no code. Returns both results. */
async function verifyWithBoth(bytes: Uint8Array): Promise<{ ours: unknown; theirs: unknown; reason: string }> {
  const { firstBad, entries } = await verifyExport(chunksOf(bytes, 65_536), { digests, sha256 });
  const file = join(folder, 'export.ndjson');
  writeFileSync(file, bytes);
  const { out, status } = await runVerifier(['ledger', file, '--json']);
  const verdict = JSON.parse(out);
  expect(status).toBe(verdict.result === 'ok' ? 0 : 1);
  return {
    ours: firstBad === undefined ? { valid: entries } : { brokenAtLine: firstBad.seq },
    theirs: verdict.result === 'ok' ? { valid: verdict.entries } : { brokenAtLine: verdict.first_bad.line },
    reason: firstBad?.reason ?? '',
  };
}

/** Alters an export, given its six lines and the same rows as objects. */
type Alteration = (lines: string[], rows: Record<string, unknown>[]) => string | Uint8Array;

const joinLines = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const replaceLine = (at: number, change: (line: string) => string): Alteration => {
  return (lines) => joinLines(lines.map((line, index) => (index === at ? change(line) : line)));
};

/** Changes rows of a chain of six and recomputes all hashes, so only the changed members can be wrong. */
const rehashChain = (change: (entry: Record<string, unknown>, index: number) => object): Alteration => {
  return (_, rows) => {
    let prevHash: string | null = null;
    const lines = rows.map(({ row_hash: _hash, ...entry }, index) => {
      const changed = change({ ...entry, prev_hash: prevHash }, index);
      const hash = rowHashOf(canonicalJson(changed), digests);
      prevHash = hash;
      return JSON.stringify({ ...changed, row_hash: hash });
    });
    return joinLines(lines);
  };
};
const rehashThirdRow = (change: object) => rehashChain((entry, index) => (index === 2 ? { ...entry, ...change } : entry));

describe('an export of the ledger', () => {
  let text: string;
  let tenantId: string;
  beforeAll(async () => {
    tenantId = await createSixRows(server);
    text = await exportLedger(tenantId);
  });

  test('has one line per row with the 16 members and row_hash, and both verifiers accept it', async () => {
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(Object.keys(JSON.parse(line))).toHaveLength(17);
    expect(await verifyWithBoth(Buffer.from(text))).toMatchObject({ ours: { valid: 6 }, theirs: { valid: 6 } });
    const report = await verifyExport(chunksOf(Buffer.from(text), 7), { digests, sha256 });
    expect(report).toEqual({ ...(await verifyAuditLedger(server.open.pool, tenantId)) });
  });

  const members = ['version', 'tenant_id', 'seq', 'id', 'recorded_at', 'recorded_by', 'actor', 'action', 'subject', 'rationale'];
  members.push('framework', 'trace_id', 'agent_id', 'retention_until', 'metadata', 'prev_hash', 'row_hash');
  test.each(members)('both verifiers report a changed %s in the third row', async (member) => {
    const line = text.split('\n')[2]!;
    const altered = (value: unknown) => Buffer.from(text.replace(line, JSON.stringify({ ...JSON.parse(line), [member]: value })));
    for (const value of ['changed', null, 7, { place: 4 }, [], true, { toString: 1 }]) {
      if (JSON.parse(line)[member] === value) continue;
      expect((await verifyExport(chunksOf(altered(value), 65_536), { digests, sha256 })).firstBad).toMatchObject({ seq: 3 });
    }
    expect(await verifyWithBoth(altered('changed'))).toMatchObject({ ours: { brokenAtLine: 3 }, theirs: { brokenAtLine: 3 } });
  });

  test.each<[string, Alteration, number]>([
    ['a line removed', (lines) => joinLines(lines.toSpliced(2, 1)), 3],
    ['the first line removed', (lines) => joinLines(lines.slice(1)), 1],
    ['a duplicated line', (lines) => joinLines(lines.toSpliced(2, 0, lines[1]!)), 3],
    ['two lines swapped', (lines) => joinLines([lines[0]!, lines[2]!, lines[1]!, ...lines.slice(3)]), 2],
    ['a truncated line', (lines) => joinLines(lines).slice(0, -100), 6],
    ['an empty line', (lines) => joinLines(lines.toSpliced(2, 0, '')), 3],
    ['an empty line at the end', (lines) => `${joinLines(lines)}\n`, 7],
    ['a byte order mark', (lines) => `\ufeff${joinLines(lines)}`, 1],
    ['a line that is not an object', replaceLine(2, () => '"row"'), 3],
    ['a line that is null', replaceLine(2, () => 'null'), 3],
    ['two values in a line', replaceLine(2, (line) => `${line} ${line}`), 3],
    ['a line that is not JSON', replaceLine(2, (line) => line.replace('"actor"', 'actor')), 3],
    ['the number NaN', replaceLine(2, (line) => line.replace(':0.1', ':NaN')), 3],
    ['a duplicate member', replaceLine(2, (line) => line.replace('"actor"', '"actor":"me","actor"')), 3],
    [
      'a duplicate member spelled with escapes',
      replaceLine(2, (line) => line.replace('"actor"', '"\\u0061ctor":"me","actor"')),
      3,
    ],
    ['a duplicate member deep in metadata', replaceLine(2, (line) => line.replace('"deep"', '"deep":2,"deep"')), 3],
    ['a member named __proto__', replaceLine(2, (line) => line.replace('{', '{"__proto__":{},')), 3],
    [
      'a number with more digits than a double holds',
      replaceLine(2, (line) => line.replace(':0.1', ':0.1000000000000000000001')),
      3,
    ],
    ['a number too large for a double', replaceLine(2, (line) => line.replace(':0.1', ':1e400')), 3],
    ['a number too small for a double', replaceLine(2, (line) => line.replace('"ratio"', '"tiny":1e-400,"ratio"')), 3],
    ['half a surrogate pair', replaceLine(2, (line) => line.replace('🦉', '\\ud83e')), 3],
    ['a character in another Unicode normalization', replaceLine(2, (line) => line.replace('ä', 'a\u0308')), 3],
    ['deep nesting', replaceLine(2, (line) => line.replace(':0.1', `:${'['.repeat(5000)}${']'.repeat(5000)}`)), 3],
    ['a line of brackets', replaceLine(2, () => '['.repeat(2_000_000)), 3],
    [
      'bytes that are not UTF-8',
      (lines) => Buffer.concat([Buffer.from(joinLines(lines.slice(0, 2))), Buffer.from([0xff, 0x0a])]),
      3,
    ],
    ['text in UTF-16', (lines) => Buffer.from(joinLines(lines), 'utf16le'), 1],
    ['the bytes of an executable file', () => Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 0x0a]), 1],
    ['a rehashed actor that is a number', rehashThirdRow({ actor: 5 }), 3],
    ['rehashed metadata that is an array', rehashThirdRow({ metadata: [1] }), 3],
    ['rehashed metadata that is a string', rehashThirdRow({ metadata: 'x' }), 3],
    ['a rehashed recorded_by of null', rehashThirdRow({ recorded_by: null }), 3],
    ['a rehashed agent_id of false', rehashThirdRow({ agent_id: false }), 3],
    ['an unknown member in a rehashed row', rehashThirdRow({ approver: 'x' }), 3],
    ['another version in a rehashed row', rehashThirdRow({ version: 2 }), 3],
    ['a time that goes backwards in a rehashed row', rehashThirdRow({ recorded_at: '2020-01-01T00:00:00.000Z' }), 3],
    ['a time with microseconds in a rehashed row', rehashThirdRow({ recorded_at: '2090-01-01T00:00:00.000000Z' }), 3],
    ['another tenant in a rehashed row', rehashThirdRow({ tenant_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24' }), 3],
    [
      'a skipped seq in a rehashed chain',
      rehashChain((entry, index) => ({ ...entry, seq: index < 2 ? index + 1 : index + 2 })),
      3,
    ],
    [
      'a prev_hash in the first row of a rehashed chain',
      rehashChain((entry, index) => (index === 0 ? { ...entry, prev_hash: '0'.repeat(64) } : entry)),
      1,
    ],
  ])('both verifiers report the first bad line of an export with %s', async (_, alter, line) => {
    const lines = text.trimEnd().split('\n');
    const verdicts = await verifyWithBoth(
      Buffer.from(
        alter(
          lines,
          lines.map((each) => JSON.parse(each)),
        ),
      ),
    );
    expect(verdicts).toMatchObject({ ours: { brokenAtLine: line }, theirs: { brokenAtLine: line } });
    expect(verdicts.reason).not.toBe('');
  });

  test.each<[string, Alteration, number]>([
    [
      'members in another order',
      (_, rows) => joinLines(rows.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).reverse())))),
      6,
    ],
    ['white space', (_, rows) => joinLines(rows.map((row) => JSON.stringify(row, null, 1).replaceAll('\n', ' \t'))), 6],
    ['CRLF', (lines) => lines.map((line) => `${line}\r\n`).join(''), 6],
    ['escaped characters', replaceLine(2, (line) => line.replace('🦉', '\\ud83e\\udd89').replace('"ci"', '"\\u0063i"')), 6],
    [
      'numbers in another notation',
      replaceLine(2, (line) => line.replace(':0.1', ':1e-1').replace('1e+21', '1000000000000000000000.0')),
      6,
    ],
    ['no newline at the end', (lines) => lines.join('\n'), 6],
    ['the newest rows left out', (lines) => joinLines(lines.slice(0, 4)), 4],
    ['no rows', () => '', 0],
    ['a changed row in a rehashed chain', rehashThirdRow({ actor: 'me' }), 6],
  ])('both verifiers accept an export with %s', async (_, alter, valid) => {
    const lines = text.trimEnd().split('\n');
    const verdicts = await verifyWithBoth(
      Buffer.from(
        alter(
          lines,
          lines.map((each) => JSON.parse(each)),
        ),
      ),
    );
    expect(verdicts).toMatchObject({ ours: { valid }, theirs: { valid } });
  });

  test('a line longer than 64 MiB is reported and not read further', async () => {
    let chunkCount = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text);
      for (const chunk = Buffer.alloc(1024 * 1024, 'a'); ; chunkCount += 1) yield chunk;
    }
    expect((await verifyExport(endless(), { digests, sha256 })).firstBad).toEqual({
      seq: 7,
      reason: expect.stringMatching(/longer than 67108864 bytes/),
    });
    expect(chunkCount).toBeLessThanOrEqual(65);
  });

  test('both verifiers report a row that was altered in the database before the export', async () => {
    const altered = await createSixRows(server);
    await tamper(
      server,
      `UPDATE countersign.audit_entries SET document = replace(document, '"ci"', '"me"') WHERE $T AND seq = 4`,
      altered,
    );
    const verdicts = await verifyWithBoth(Buffer.from(await exportLedger(altered)));
    expect(verdicts).toMatchObject({ ours: { brokenAtLine: 4 }, theirs: { brokenAtLine: 4 } });
  });
});
