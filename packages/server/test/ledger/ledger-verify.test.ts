import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { digests, sha256 } from '../../src/crypto/digests.ts';
import { exportLog } from '../../src/ledger/export.ts';
import { setHeadStore } from '../../src/ledger/head-memory.ts';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import { verifyKnownLog } from '../../src/ledger/verify-log.ts';
import { chunksOf, createSixRows, tamper } from '../fixtures/altered-ledger.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});

test.each([
  ['more rows than the log', 7, /^it covers 7 rows, but the log ends after 6.*accept-restore/],
  ['another root', 6, /^the first 6 rows make the root .*accept-restore/],
])('verifyKnownLog reports a log if the stored head has %s', async (_, size, reason) => {
  const tenantId = await createSixRows(server);
  // This server has seen no head yet.
  const { pool, secrets } = (await testServer({ checkpointSeconds: undefined, database: server.database })).open;
  setHeadStore(pool, {
    latest: async () => ({ size, root: new Uint8Array(32) }),
    hasChanged: () => false,
    write: async () => undefined,
  });
  const report = await verifyKnownLog(pool, secrets.masterSecret, { tenantId, log: 'audit' });
  expect(report.contradiction).toEqual({
    source: 'the newest head that the server has seen',
    size,
    reason: expect.stringMatching(reason),
  });
});

describe('verifyAuditLedger', () => {
  test('accepts an unchanged ledger and an empty one', async () => {
    const tenantId = await createSixRows(server);
    const report = await verifyAuditLedger(server.open.pool, tenantId);
    const [head] = await server.database.sql(
      `SELECT encode(row_hash, 'hex') AS hash FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit'`,
      [tenantId],
    );
    expect(report).toEqual({ tenantId, entries: 6, head: head?.hash, firstBad: undefined });
    const empty = await server.workspace();
    expect(await verifyAuditLedger(server.open.pool, empty)).toEqual({
      tenantId: empty,
      entries: 0,
      head: null,
      firstBad: undefined,
    });
  });

  const updateRow = (change: string, seq = 3) => `UPDATE countersign.audit_entries SET ${change} WHERE $T AND seq = ${seq}`;
  const updateHead = (change: string) => `UPDATE countersign.log_heads SET ${change} WHERE $T AND log = 'audit'`;
  const deleteRows = (condition: string) => `DELETE FROM countersign.audit_entries WHERE $T AND ${condition}`;

  test.each([
    ['seq', updateRow('seq = 1000'), 3, /a row is missing/],
    [
      'seq of the last row, set to the largest possible number',
      updateRow('seq = 9007199254740991', 6),
      6,
      /the column seq says 9007199254740991/,
    ],
    ['seq, moved by more than a page', updateRow('seq = seq + 5000, prev_hash = prev_hash', 6), 6, /the column seq says 5006/],
    ['id', updateRow('id = gen_random_uuid()'), 3, /the column id says/],
    ['recorded_at', updateRow(`recorded_at = recorded_at - interval '1 day'`), 3, /the column recorded_at says/],
    [
      'recorded_at by a microsecond',
      updateRow(`recorded_at = recorded_at + interval '1 microsecond'`),
      3,
      /the column recorded_at says/,
    ],
    [
      'recorded_by',
      updateRow(`recorded_by = 'operator'`),
      3,
      /the column recorded_by says "operator", but the hashed document says "key:/,
    ],
    [
      'actor',
      updateRow(`actor = 'somebody else'`),
      3,
      /the column actor says "somebody else", but the hashed document says "ci"/,
    ],
    ['action', updateRow(`action = 'agent.blocked'`), 3, /the column action says/],
    ['trace_id', updateRow(`trace_id = 'run-9'`), 3, /the column trace_id says "run-9"/],
    [
      'actor, joined with action as the query joins them',
      updateRow(`actor = actor || E'\\x1f' || action, action = ''`),
      3,
      /the column actor/,
    ],
    ['trace_id, set to the marker for null', updateRow(`trace_id = E'\\x1e'`), 3, /the column trace_id says/],
    ['trace_id, set to null', updateRow('trace_id = NULL'), 3, /the column trace_id says null/],
    ['agent_id', updateRow('agent_id = gen_random_uuid()'), 3, /the column agent_id says/],
    ['prev_hash', updateRow(`prev_hash = sha256('x')`), 3, /the column prev_hash says/],
    ['row_hash', updateRow(`row_hash = sha256('x')`), 3, /but the content hashes to/],
    ['row_hash of the last row', updateRow(`row_hash = sha256('x')`, 6), 6, /but the content hashes to/],
    ['document', updateRow(`document = replace(document, '"actor":"ci"', '"actor":"me"')`), 3, /the row was altered/],
    [
      'document and its columns',
      updateRow(`actor = 'me', document = replace(document, '"actor":"ci"', '"actor":"me"')`),
      3,
      /the row was altered/,
    ],
    ['document, an added space', updateRow(`document = replace(document, '"actor":', '"actor": ')`), 3, /not in canonical form/],
    [
      'document, a duplicate member',
      updateRow(`document = replace(document, '"actor"', '"actor":"me","actor"')`),
      3,
      /not in canonical form/,
    ],
    [
      'document, a number in another notation',
      updateRow(`document = replace(document, ':0.1,', ':0.1000000000000000000001,')`),
      3,
      /canonical form/,
    ],
    [
      'document, an added row_hash',
      updateRow(`document = replace(document, '{"action"', '{"row_hash":"x","action"')`),
      3,
      /canonical/,
    ],
    [
      'document, an unknown member',
      updateRow(`document = replace(document, '{"action"', '{"approver":"x","action"')`),
      3,
      /"approver"/,
    ],
    ['document, not JSON', updateRow(`document = 'gone'`), 3, /not a JSON object/],
    ['document, an array', updateRow(`document = '[]'`), 3, /not a JSON object/],
    ['document, deeply nested', updateRow(`document = repeat('{"a":', 5000) || '1' || repeat('}', 5000)`), 3, /nested deeper/],
    ['a row removed', deleteRows('seq = 3'), 3, /seq is 4, expected 3: a row is missing/],
    ['the first row removed', deleteRows('seq = 1'), 1, /seq is 2, expected 1/],
    ['the tail cut off', deleteRows('seq > 4'), 5, /the head says that the log has 6 rows, so its tail was cut off/],
    ['all rows removed', deleteRows('true'), 1, /the head says that the log has 6 rows/],
    [
      'the head moved back',
      updateHead(`seq = 4, row_hash = (SELECT row_hash FROM countersign.audit_entries WHERE $T AND seq = 4)`),
      5,
      /ends at 4, but there are more rows/,
    ],
    ['the head moved forward', updateHead('seq = 7'), 7, /its tail was cut off/],
    ['the hash of the head', updateHead(`row_hash = sha256('x')`), 6, /the head says that the last row has the hash/],
    ['the hash of the head, set to null', updateHead('row_hash = NULL'), 6, /the head says that the last row has the hash null/],
    ['the head removed', `DELETE FROM countersign.log_heads WHERE $T AND log = 'audit'`, 7, /head row is gone/],
  ])('names the first bad row after a change: %s', async (_, statement, seq, reason) => {
    const tenantId = await createSixRows(server);
    await tamper(server, statement, tenantId);
    const { firstBad } = await verifyAuditLedger(server.open.pool, tenantId);
    expect(firstBad).toEqual({ seq, reason: expect.stringMatching(reason) });
  });

  test.each([`E'\\x1e'`, `''`, `E'\\x1f'`])(
    'names a row whose column trace_id has the value %s, although the entry has no trace_id',
    async (value) => {
      const tenantId = await server.workspace();
      await server.post(paths.audit, await server.key(tenantId), { actor: 'ci', action: 'test.ran' });
      expect((await verifyAuditLedger(server.open.pool, tenantId)).firstBad).toBeUndefined();
      await tamper(server, updateRow(`trace_id = ${value}`, 1), tenantId);
      const { firstBad } = await verifyAuditLedger(server.open.pool, tenantId);
      expect(firstBad).toEqual({ seq: 1, reason: expect.stringMatching(/the column trace_id says/) });
    },
  );

  test("accepts quotes, backslashes and the query's separators in texts", async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const metadata = { 'a "name"': 'of \\ this', marks: '\u001e\u001f\n' };
    const labels = { actor: 'the "boss"', action: 'a\\b', trace_id: '"' };
    for (let count = 1; count <= 3; count += 1)
      await server.post(paths.audit, key, { ...labels, rationale: '\u001f"\n', metadata });
    await server.post(paths.audit, key, labels);
    expect(await verifyAuditLedger(server.open.pool, tenantId)).toMatchObject({ entries: 4, firstBad: undefined });
  });

  test('reports the row after a row that was rewritten and rehashed', async () => {
    const tenantId = await createSixRows(server);
    const [found] = await server.database.sql<{ document: string }>(
      'SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND seq = 3',
      [tenantId],
    );
    const document = canonicalJson({ ...JSON.parse(found!.document), actor: 'me' });
    const hash = rowHashOf(document, digests);
    await tamper(
      server,
      updateRow(`actor = 'me', document = $doc$${document}$doc$, row_hash = decode('${hash}', 'hex')`),
      tenantId,
    );
    expect((await verifyAuditLedger(server.open.pool, tenantId)).firstBad).toEqual({
      seq: 4,
      reason: expect.stringMatching(/the chain is broken here/),
    });
  });

  test('reports a row whose document was replaced by a document of another tenant', async () => {
    const [tenantId, other] = [await createSixRows(server), await createSixRows(server)];
    const [otherRow] = await server.database.sql<{ document: string }>(
      'SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND seq = 3',
      [other],
    );
    await tamper(server, updateRow(`document = $doc$${otherRow!.document}$doc$`), tenantId);
    const { firstBad } = await verifyAuditLedger(server.open.pool, tenantId);
    expect(firstBad).toEqual({ seq: 3, reason: expect.stringMatching(/another tenant/) });
  });

  test('accepts the rows of a truncated ledger with a matching head; the stored tree reveals the missing rows', async () => {
    const tenantId = await createSixRows(server);
    await tamper(server, deleteRows('seq > 4'), tenantId);
    await tamper(
      server,
      updateHead('seq = 4, row_hash = (SELECT row_hash FROM countersign.audit_entries WHERE $T AND seq = 4)'),
      tenantId,
    );
    const report = await verifyAuditLedger(server.open.pool, tenantId);
    expect(report).toMatchObject({ entries: 4, firstBad: undefined });
    expect(report.contradiction?.reason).toMatch(/covers 6 rows, but the log ends after 4: its tail was cut off/);
  });

  test('verifies a ledger while rows are appended', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    let isAppending = true;
    const appends = Array.from({ length: 8 }, async () => {
      while (isAppending) await server.post(paths.audit, key, { actor: 'ci', action: 'build.done' });
    });
    const counts: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const { firstBad, entries } = await verifyAuditLedger(server.open.pool, tenantId);
      expect(firstBad).toBeUndefined();
      counts.push(entries);
    }
    isAppending = false;
    await Promise.all(appends);
    expect(counts.at(-1)).toBeGreaterThan(counts[0]!);
  });

  test('verifies many rows and rows of 900 KB, and exports them in pages', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const append = (metadata: object) => server.post(paths.audit, key, { actor: 'ci', action: 'build.done', metadata });
    const responses: TestResponse[] = [];
    // The entries are sent in groups, because on a slow machine the server rejects requests that wait too long.
    for (let start = 0; start < 1_100; start += 100)
      responses.push(...(await Promise.all(Array.from({ length: 100 }, (_, index) => append({ number: start + index })))));
    for (let count = 0; count < 12; count += 1) responses.push(await append({ long: 'x'.repeat(900_000) }));
    expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
    const pages: number[] = [];
    let lines = '';
    for await (const page of exportLog(server.open.pool, tenantId, 'audit')) {
      pages.push(page.lines.length);
      lines += page.lines;
    }
    expect(pages.length).toBeGreaterThanOrEqual(4);
    expect(Math.max(...pages)).toBeLessThan(6 * 1024 * 1024);
    expect((await verifyAuditLedger(server.open.pool, tenantId)).entries).toBe(1_112);
    expect(await verifyExport(chunksOf(Buffer.from(lines), 1024 * 1024), { digests, sha256 })).toMatchObject({
      entries: 1_112,
      firstBad: undefined,
    });
  });
});

test('`ledger verify --log all` reports the progress of each log separately, counted from its first row', async () => {
  const tenantId = await server.workspace();
  const key = await server.key(tenantId);
  for (const [path, body] of [
    [paths.audit, { actor: 'ci', action: 'build.done' }],
    [paths.evaluations, { agent_name: 'bot', name: 'nightly' }],
  ] as const) {
    const responses = await Promise.all(Array.from({ length: 600 }, () => server.post(path, key, body)));
    expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  }
  // Each call of `performance.now` returns a time two seconds later, so that every progress report is due.
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 2_000));
  const command = ['ledger', 'verify', '--workspace', tenantId, '--log', 'all', '--progress'];
  const { status, err } = await runCommand(environmentOf(server), ...command).finally(() => clock.mockRestore());
  expect(status).toBe(0);
  // The evidence log has one row more: the registration of the agent.
  expect(err.match(/^\d+ rows, \d+ rows\/s$/gm)?.map((line) => line.split(',')[0])).toEqual(['600 rows', '601 rows']);
});
