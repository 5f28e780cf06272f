import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digests, sha256 } from '../src/digests.ts';
import { exportLedger } from '../src/ledger/export.ts';
import { verifyDatabase } from '../src/ledger/verify-database.ts';
import { paths, type TestServer, testServer } from './bed/test-server.ts';

const VERIFIER = fileURLToPath(new URL('../../../examples/verify/verify.py', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'countersign-ledger-'));
afterAll(() => rmSync(folder, { recursive: true }));

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});

/** A workspace whose ledger has six rows. */
async function sixRows(): Promise<string> {
  const tenantId = await server.workspace();
  const key = await server.key(tenantId);
  for (let place = 1; place <= 6; place += 1) {
    await server.post(paths.audit, key, {
      actor: 'ci',
      action: 'agent.promoted',
      subject: 'Fräulein 🦉',
      trace_id: `run-${place}`,
      metadata: { place, ratio: 0.1, 'é"': [null, true, { deep: 1e21 }] },
    });
  }
  return tenantId;
}

async function exported(tenantId: string): Promise<string> {
  let text = '';
  for await (const { lines } of exportLedger(server.open.pool, tenantId)) text += lines;
  return text;
}

/** Bytes as a file gives them: in pieces that know nothing of lines. */
async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Changes rows as the superuser, with the triggers that forbid it switched off. */
async function tamper(statement: string, tenantId: string): Promise<void> {
  const { sql } = server.database;
  await sql('ALTER TABLE countersign.audit_entries DISABLE TRIGGER append_only');
  try {
    await sql(statement.replaceAll('$T', `tenant_id = '${tenantId}'`));
  } finally {
    await sql('ALTER TABLE countersign.audit_entries ENABLE ALWAYS TRIGGER append_only');
  }
}

describe('a ledger in the database', () => {
  test('is whole as it was written, and empty as it was made', async () => {
    const tenantId = await sixRows();
    const report = await verifyDatabase(server.open.pool, tenantId);
    const [head] = await server.database.sql(
      `SELECT encode(row_hash, 'hex') AS hash FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit'`,
      [tenantId],
    );
    expect(report).toEqual({ tenantId, entries: 6, head: head?.hash, firstBad: undefined });
    const empty = await server.workspace();
    expect(await verifyDatabase(server.open.pool, empty)).toEqual({
      tenantId: empty,
      entries: 0,
      head: null,
      firstBad: undefined,
    });
  });

  const row = (change: string, seq = 3) => `UPDATE countersign.audit_entries SET ${change} WHERE $T AND seq = ${seq}`;
  const head = (change: string) => `UPDATE countersign.log_heads SET ${change} WHERE $T AND log = 'audit'`;
  const remove = (which: string) => `DELETE FROM countersign.audit_entries WHERE $T AND ${which}`;

  test.each([
    ['seq', row('seq = 1000'), 3, /a row is missing/],
    ['seq of the last, to the largest there is', row('seq = 9007199254740991', 6), 6, /the column seq says 9007199254740991/],
    ['seq by a page', row('seq = seq + 5000, prev_hash = prev_hash', 6), 6, /the column seq says 5006/],
    ['id', row('id = gen_random_uuid()'), 3, /the column id says/],
    ['recorded_at', row(`recorded_at = recorded_at - interval '1 day'`), 3, /the column recorded_at says/],
    [
      'recorded_at by a microsecond',
      row(`recorded_at = recorded_at + interval '1 microsecond'`),
      3,
      /the column recorded_at says/,
    ],
    [
      'recorded_by',
      row(`recorded_by = 'operator'`),
      3,
      /the column recorded_by says "operator", but the hashed document says "key:/,
    ],
    ['actor', row(`actor = 'somebody else'`), 3, /the column actor says "somebody else", but the hashed document says "ci"/],
    ['action', row(`action = 'agent.blocked'`), 3, /the column action says/],
    ['trace_id', row(`trace_id = 'run-9'`), 3, /the column trace_id says "run-9"/],
    [
      'actor, run together with action as they are read',
      row(`actor = actor || E'\\x1f' || action, action = ''`),
      3,
      /the column actor/,
    ],
    ['trace_id, to what stands for null', row(`trace_id = E'\\x1e'`), 3, /the column trace_id says/],
    ['trace_id, set to null', row('trace_id = NULL'), 3, /the column trace_id says null/],
    ['agent_id', row('agent_id = gen_random_uuid()'), 3, /the column agent_id says/],
    ['prev_hash', row(`prev_hash = sha256('x')`), 3, /the column prev_hash says/],
    ['row_hash', row(`row_hash = sha256('x')`), 3, /but the content hashes to/],
    ['row_hash of the last row', row(`row_hash = sha256('x')`, 6), 6, /but the content hashes to/],
    ['document', row(`document = replace(document, '"actor":"ci"', '"actor":"me"')`), 3, /the row was altered/],
    [
      'document and columns alike',
      row(`actor = 'me', document = replace(document, '"actor":"ci"', '"actor":"me"')`),
      3,
      /the row was altered/,
    ],
    ['document, by a space', row(`document = replace(document, '"actor":', '"actor": ')`), 3, /not in canonical form/],
    [
      'document, a member twice',
      row(`document = replace(document, '"actor"', '"actor":"me","actor"')`),
      3,
      /not in canonical form/,
    ],
    [
      'document, a number respelled',
      row(`document = replace(document, ':0.1,', ':0.1000000000000000000001,')`),
      3,
      /canonical form/,
    ],
    [
      'document, with a row_hash in it',
      row(`document = replace(document, '{"action"', '{"row_hash":"x","action"')`),
      3,
      /canonical/,
    ],
    [
      'document, with a member more',
      row(`document = replace(document, '{"action"', '{"approver":"x","action"')`),
      3,
      /"approver"/,
    ],
    ['document, no JSON', row(`document = 'gone'`), 3, /not a JSON object/],
    ['document, no object', row(`document = '[]'`), 3, /not a JSON object/],
    ['document, nested deeply', row(`document = repeat('{"a":', 5000) || '1' || repeat('}', 5000)`), 3, /nested deeper/],
    ['a row removed', remove('seq = 3'), 3, /seq is 4, expected 3: a row is missing/],
    ['the first row removed', remove('seq = 1'), 1, /seq is 2, expected 1/],
    ['the tail cut off', remove('seq > 4'), 5, /the head says that the ledger has 6 rows, so its tail was cut off/],
    ['all rows removed', remove('true'), 1, /the head says that the ledger has 6 rows/],
    [
      'the head moved back',
      head(`seq = 4, row_hash = (SELECT row_hash FROM countersign.audit_entries WHERE $T AND seq = 4)`),
      5,
      /ends at 4, but rows go on/,
    ],
    ['the head moved on', head('seq = 7'), 7, /its tail was cut off/],
    ['the hash of the head', head(`row_hash = sha256('x')`), 6, /the head says that the last row has row_hash/],
    ['the hash of the head, set to null', head('row_hash = NULL'), 6, /the head says that the last row has row_hash null/],
    ['the head removed', `DELETE FROM countersign.log_heads WHERE $T AND log = 'audit'`, 7, /head row is gone/],
  ])('with a change of %s names the first bad row', async (_, statement, seq, reason) => {
    const tenantId = await sixRows();
    await tamper(statement, tenantId);
    const { firstBad } = await verifyDatabase(server.open.pool, tenantId);
    expect(firstBad).toEqual({ seq, reason: expect.stringMatching(reason) });
  });

  test('with quotes, backslashes and the marks that stand between columns in its texts is whole', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const metadata = { 'a "name"': 'of \\ this', marks: '\u001e\u001f\n' };
    const labels = { actor: 'the "boss"', action: 'a\\b', trace_id: '"' };
    for (let place = 1; place <= 3; place += 1)
      await server.post(paths.audit, key, { ...labels, rationale: '\u001f"\n', metadata });
    await server.post(paths.audit, key, labels);
    expect(await verifyDatabase(server.open.pool, tenantId)).toMatchObject({ entries: 4, firstBad: undefined });
  });

  test('with a row rewritten and hashed anew is broken at the row behind it', async () => {
    const tenantId = await sixRows();
    const [found] = await server.database.sql<{ document: string }>(
      'SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND seq = 3',
      [tenantId],
    );
    const document = canonicalJson({ ...JSON.parse(found!.document), actor: 'me' });
    const hash = rowHashOf(document, digests);
    await tamper(row(`actor = 'me', document = $doc$${document}$doc$, row_hash = decode('${hash}', 'hex')`), tenantId);
    expect((await verifyDatabase(server.open.pool, tenantId)).firstBad).toEqual({
      seq: 4,
      reason: expect.stringMatching(/the chain is cut here/),
    });
  });

  test("with another tenant's row in place of its own is broken there", async () => {
    const [tenantId, other] = [await sixRows(), await sixRows()];
    const theirs = `(SELECT document FROM countersign.audit_entries WHERE tenant_id = '${other}' AND seq = 3)`;
    await tamper(row(`document = ${theirs}`), tenantId);
    const { firstBad } = await verifyDatabase(server.open.pool, tenantId);
    expect(firstBad).toEqual({ seq: 3, reason: expect.stringMatching(/another tenant/) });
  });

  test('with tail and head cut off together has whole rows, and the stored tree says that there were more', async () => {
    const tenantId = await sixRows();
    await tamper(remove('seq > 4'), tenantId);
    await tamper(head('seq = 4, row_hash = (SELECT row_hash FROM countersign.audit_entries WHERE $T AND seq = 4)'), tenantId);
    const report = await verifyDatabase(server.open.pool, tenantId);
    expect(report).toMatchObject({ entries: 4, firstBad: undefined });
    expect(report.contradiction?.reason).toMatch(/covers 6 rows, but the log ends after 4: its tail was cut off/);
  });

  test('is checked while rows are appended to it', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    let running = true;
    const appends = Array.from({ length: 8 }, async () => {
      while (running) await server.post(paths.audit, key, { actor: 'ci', action: 'build.done' });
    });
    const counts: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const { firstBad, entries } = await verifyDatabase(server.open.pool, tenantId);
      expect(firstBad).toBeUndefined();
      counts.push(entries);
    }
    running = false;
    await Promise.all(appends);
    expect(counts.at(-1)).toBeGreaterThan(counts[0]!);
  });

  test('of many rows, and of rows of a megabyte, is read in pages and exported to the last row', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const append = (metadata: object) => server.post(paths.audit, key, { actor: 'ci', action: 'build.done', metadata });
    await Promise.all(Array.from({ length: 1_100 }, (_, place) => append({ place })));
    await Promise.all(Array.from({ length: 12 }, () => append({ long: 'x'.repeat(900_000) })));
    const pages: number[] = [];
    let lines = '';
    for await (const page of exportLedger(server.open.pool, tenantId)) {
      pages.push(page.lines.length);
      lines += page.lines;
    }
    expect(pages.length).toBeGreaterThanOrEqual(4);
    expect(Math.max(...pages)).toBeLessThan(6 * 1024 * 1024);
    expect((await verifyDatabase(server.open.pool, tenantId)).entries).toBe(1_112);
    expect(await verifyExport(pieces(Buffer.from(lines), 1024 * 1024), { digests, sha256 })).toMatchObject({
      entries: 1_112,
      firstBad: undefined,
    });
  });
});

/** What both verifiers say about an export: ours, and the independent one, which knows no line of our code. */
async function bothVerdicts(bytes: Uint8Array): Promise<{ ours: unknown; theirs: unknown; reason: string }> {
  const { firstBad, entries } = await verifyExport(pieces(bytes, 65_536), { digests, sha256 });
  const file = join(folder, 'export.ndjson');
  writeFileSync(file, bytes);
  const { stdout, status } = spawnSync('python3', ['-S', VERIFIER, 'ledger', file, '--json'], { encoding: 'utf8' });
  const said = JSON.parse(stdout);
  expect(status).toBe(said.result === 'ok' ? 0 : 1);
  return {
    ours: firstBad === undefined ? { whole: entries } : { brokenAtLine: firstBad.seq },
    theirs: said.result === 'ok' ? { whole: said.entries } : { brokenAtLine: said.first_bad.line },
    reason: firstBad?.reason ?? '',
  };
}

/** Six lines to doctor, and the same six objects. */
type Doctor = (lines: string[], rows: Record<string, unknown>[]) => string | Uint8Array;

const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const replaced = (at: number, change: (line: string) => string): Doctor => {
  return (lines) => joined(lines.map((line, index) => (index === at ? change(line) : line)));
};

/** A chain of six rows changed at one place and then hashed anew throughout: only the form of a row can be wrong. */
const rehashed = (change: (entry: Record<string, unknown>, index: number) => object): Doctor => {
  return (_, rows) => {
    let before: string | null = null;
    const lines = rows.map(({ row_hash: _hash, ...entry }, index) => {
      const changed = change({ ...entry, prev_hash: before }, index);
      const hash = rowHashOf(canonicalJson(changed), digests);
      before = hash;
      return JSON.stringify({ ...changed, row_hash: hash });
    });
    return joined(lines);
  };
};
const third = (change: object) => rehashed((entry, index) => (index === 2 ? { ...entry, ...change } : entry));

describe('an export', () => {
  let text: string;
  let tenantId: string;
  beforeAll(async () => {
    tenantId = await sixRows();
    text = await exported(tenantId);
  });

  test('has one line a row, each with the 16 members and row_hash, and is whole for both verifiers', async () => {
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(Object.keys(JSON.parse(line))).toHaveLength(17);
    expect(await bothVerdicts(Buffer.from(text))).toMatchObject({ ours: { whole: 6 }, theirs: { whole: 6 } });
    const report = await verifyExport(pieces(Buffer.from(text), 7), { digests, sha256 });
    expect(report).toEqual({ ...(await verifyDatabase(server.open.pool, tenantId)) });
  });

  const members = ['version', 'tenant_id', 'seq', 'id', 'recorded_at', 'recorded_by', 'actor', 'action', 'subject', 'rationale'];
  members.push('framework', 'trace_id', 'agent_id', 'retention_until', 'metadata', 'prev_hash', 'row_hash');
  test.each(members)('with another %s in the third row is broken there for both verifiers', async (member) => {
    const line = text.split('\n')[2]!;
    const doctored = (value: unknown) =>
      Buffer.from(text.replace(line, JSON.stringify({ ...JSON.parse(line), [member]: value })));
    for (const value of ['changed', null, 7, { place: 4 }, [], true, { toString: 1 }]) {
      if (JSON.parse(line)[member] === value) continue;
      expect((await verifyExport(pieces(doctored(value), 65_536), { digests, sha256 })).firstBad).toMatchObject({ seq: 3 });
    }
    expect(await bothVerdicts(doctored('changed'))).toMatchObject({ ours: { brokenAtLine: 3 }, theirs: { brokenAtLine: 3 } });
  });

  test.each<[string, Doctor, number]>([
    ['a line removed', (lines) => joined(lines.toSpliced(2, 1)), 3],
    ['the first line removed', (lines) => joined(lines.slice(1)), 1],
    ['a line twice', (lines) => joined(lines.toSpliced(2, 0, lines[1]!)), 3],
    ['two lines swapped', (lines) => joined([lines[0]!, lines[2]!, lines[1]!, ...lines.slice(3)]), 2],
    ['a line cut off', (lines) => joined(lines).slice(0, -100), 6],
    ['an empty line', (lines) => joined(lines.toSpliced(2, 0, '')), 3],
    ['an empty line at the end', (lines) => `${joined(lines)}\n`, 7],
    ['a byte order mark', (lines) => `\ufeff${joined(lines)}`, 1],
    ['no object', replaced(2, () => '"row"'), 3],
    ['null', replaced(2, () => 'null'), 3],
    ['two values in a line', replaced(2, (line) => `${line} ${line}`), 3],
    ['no JSON', replaced(2, (line) => line.replace('"actor"', 'actor')), 3],
    ['NaN', replaced(2, (line) => line.replace(':0.1', ':NaN')), 3],
    ['a member twice', replaced(2, (line) => line.replace('"actor"', '"actor":"me","actor"')), 3],
    ['a member twice, once in escapes', replaced(2, (line) => line.replace('"actor"', '"\\u0061ctor":"me","actor"')), 3],
    ['a member twice, deep in metadata', replaced(2, (line) => line.replace('"deep"', '"deep":2,"deep"')), 3],
    ['__proto__', replaced(2, (line) => line.replace('{', '{"__proto__":{},')), 3],
    ['a number beyond a double', replaced(2, (line) => line.replace(':0.1', ':0.1000000000000000000001')), 3],
    ['a number beyond all doubles', replaced(2, (line) => line.replace(':0.1', ':1e400')), 3],
    ['a number below all doubles', replaced(2, (line) => line.replace('"ratio"', '"tiny":1e-400,"ratio"')), 3],
    ['half a character', replaced(2, (line) => line.replace('🦉', '\\ud83e')), 3],
    ['another character of the same look', replaced(2, (line) => line.replace('ä', 'a\u0308')), 3],
    ['deep nesting', replaced(2, (line) => line.replace(':0.1', `:${'['.repeat(5000)}${']'.repeat(5000)}`)), 3],
    ['a line of brackets', replaced(2, () => '['.repeat(2_000_000)), 3],
    ['bytes that are no UTF-8', (lines) => Buffer.concat([Buffer.from(joined(lines.slice(0, 2))), Buffer.from([0xff, 0x0a])]), 3],
    ['UTF-16', (lines) => Buffer.from(joined(lines), 'utf16le'), 1],
    ['a program', () => Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 0x0a]), 1],
    ['an actor that is a number, hashed anew', third({ actor: 5 }), 3],
    ['metadata that is an array, hashed anew', third({ metadata: [1] }), 3],
    ['metadata that is a string, hashed anew', third({ metadata: 'x' }), 3],
    ['a recorded_by of null, hashed anew', third({ recorded_by: null }), 3],
    ['an agent_id of false, hashed anew', third({ agent_id: false }), 3],
    ['a member more, hashed anew', third({ approver: 'x' }), 3],
    ['another version, hashed anew', third({ version: 2 }), 3],
    ['a time that goes backwards, hashed anew', third({ recorded_at: '2020-01-01T00:00:00.000Z' }), 3],
    ['a time with microseconds, hashed anew', third({ recorded_at: '2090-01-01T00:00:00.000000Z' }), 3],
    ['another tenant, hashed anew', third({ tenant_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24' }), 3],
    ['a seq that skips one, hashed anew', rehashed((entry, index) => ({ ...entry, seq: index < 2 ? index + 1 : index + 2 })), 3],
    [
      'a prev_hash in the first row, hashed anew',
      rehashed((entry, index) => (index === 0 ? { ...entry, prev_hash: '0'.repeat(64) } : entry)),
      1,
    ],
  ])('with %s is broken there for both verifiers', async (_, doctor, line) => {
    const lines = text.trimEnd().split('\n');
    const verdicts = await bothVerdicts(
      Buffer.from(
        doctor(
          lines,
          lines.map((each) => JSON.parse(each)),
        ),
      ),
    );
    expect(verdicts).toMatchObject({ ours: { brokenAtLine: line }, theirs: { brokenAtLine: line } });
    expect(verdicts.reason).not.toBe('');
  });

  test.each<[string, Doctor, number]>([
    [
      'members in another order',
      (_, rows) => joined(rows.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).reverse())))),
      6,
    ],
    ['white space', (_, rows) => joined(rows.map((row) => JSON.stringify(row, null, 1).replaceAll('\n', ' \t'))), 6],
    ['CRLF', (lines) => lines.map((line) => `${line}\r\n`).join(''), 6],
    [
      'characters spelled as escapes',
      replaced(2, (line) => line.replace('🦉', '\\ud83e\\udd89').replace('"ci"', '"\\u0063i"')),
      6,
    ],
    [
      'numbers spelled otherwise',
      replaced(2, (line) => line.replace(':0.1', ':1e-1').replace('1e+21', '1000000000000000000000.0')),
      6,
    ],
    ['no newline at its end', (lines) => lines.join('\n'), 6],
    ['its newest rows left out', (lines) => joined(lines.slice(0, 4)), 4],
    ['nothing in it', () => '', 0],
    ['a row hashed anew with all behind it', third({ actor: 'me' }), 6],
  ])('with %s is whole for both verifiers', async (_, doctor, whole) => {
    const lines = text.trimEnd().split('\n');
    const verdicts = await bothVerdicts(
      Buffer.from(
        doctor(
          lines,
          lines.map((each) => JSON.parse(each)),
        ),
      ),
    );
    expect(verdicts).toMatchObject({ ours: { whole }, theirs: { whole } });
  });

  test('with a line beyond 64 MiB is broken there, and is not read further', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text);
      for (const chunk = Buffer.alloc(1024 * 1024, 'a'); ; read += 1) yield chunk;
    }
    expect((await verifyExport(endless(), { digests, sha256 })).firstBad).toEqual({
      seq: 7,
      reason: expect.stringMatching(/longer than 67108864 bytes/),
    });
    expect(read).toBeLessThanOrEqual(65);
  });

  test('of a doctored database shows both verifiers what is stored', async () => {
    const doctored = await sixRows();
    await tamper(
      `UPDATE countersign.audit_entries SET document = replace(document, '"ci"', '"me"') WHERE $T AND seq = 4`,
      doctored,
    );
    const verdicts = await bothVerdicts(Buffer.from(await exported(doctored)));
    expect(verdicts).toMatchObject({ ours: { brokenAtLine: 4 }, theirs: { brokenAtLine: 4 } });
  });
});
