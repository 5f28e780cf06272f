import { ENTRY_MEMBERS, rowHashOf } from '@countersign/core/domain/audit-chain';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { digests } from '../../src/crypto/digests.ts';
import { paths } from '../harness/test-server.ts';
import type { ForgedEntry } from './insider.ts';
import { CHECKS, LedgerUnderAttack, ROWS } from './ledger-under-attack.ts';

let scenario: LedgerUnderAttack;
beforeAll(async () => {
  scenario = await LedgerUnderAttack.make();
});
afterEach(() => scenario.undo());

const sql = (statement: string, values: unknown[] = []) => scenario.insider.sql(statement, scenario.tenantId, values);

/**
 * Expects that the outputs of all checks match `expected`, and that every check with kept checkpoints exits with 1. `kept` is for the
 * check `workspaceWithKeptCheckpoints`. By default, `kept` is the same as `workspace`, and `file` the same as `kept`.
 */
async function expectDetected(expected: { workspace: RegExp; kept?: RegExp; file?: RegExp; python?: RegExp }): Promise<void> {
  const results = await scenario.runChecks('audit', ...CHECKS);
  const { workspace, kept = workspace, file = kept, python = /^broken/ } = expected;
  expect(results.workspace.output).toMatch(workspace);
  expect(results.workspaceWithKeptCheckpoints.output).toMatch(kept);
  expect(results.file.output).toMatch(file);
  expect(results.python.output).toMatch(python);
  for (const { status } of [results.workspaceWithKeptCheckpoints, results.file, results.python]) expect(status).toBe(1);
}

/** A different value of the same type for every member of an entry. */
const OTHER_VALUES: Record<string, unknown> = {
  version: 2,
  tenant_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  seq: 151,
  id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  recorded_at: '2099-01-01T00:00:00.000Z',
  recorded_by: 'operator',
  actor: 'ci:other',
  action: 'agent.blocked',
  subject: 'another',
  rationale: 'no reason',
  framework: 'none',
  trace_id: 'run-x',
  agent_id: '3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24',
  retention_until: '2026-01-01',
  metadata: { place: 1 },
  prev_hash: 'ab'.repeat(32),
};

/** The finding when only the seal of the head reveals an attack. Checking a seal needs the master secret. */
const NOT_SEALED = /^broken: the stored head: its seal is not valid/;

/** Changes the document of row 150, and its columns with IDs, actor, action, recorder and time. `shouldRehash` also updates its hash. */
async function changeRow(change: object, shouldRehash: boolean): Promise<void> {
  const [found] = (await sql(
    'SELECT document, encode(row_hash, $1) AS hash FROM countersign.audit_entries WHERE $T AND seq = 150',
    ['hex'],
  )) as unknown as [{ document: string; hash: string }];
  const document = canonicalJson({ ...JSON.parse(found.document), ...change });
  const hash = shouldRehash ? rowHashOf(document, digests) : found.hash;
  await sql(
    `UPDATE countersign.audit_entries SET document = $1::text, row_hash = decode($2::text, 'hex'), id = (d ->> 'id')::uuid, actor = d ->> 'actor',
            action = d ->> 'action', recorded_by = d ->> 'recorded_by', recorded_at = (d ->> 'recorded_at')::timestamptz,
            trace_id = d ->> 'trace_id', agent_id = (d ->> 'agent_id')::uuid
       FROM (SELECT $3::jsonb AS d) AS replacement WHERE $T AND seq = 150`,
    [document, hash, document],
  );
}

test('every tool reports the ledger as valid when nothing was changed', async () => {
  const results = await scenario.runChecks('audit', ...CHECKS);
  for (const result of Object.values(results))
    expect(result).toMatchObject({ status: 0, output: expect.stringMatching(/^valid/) });
});

describe('a changed member of a row', () => {
  test('OTHER_VALUES covers every member of a row', () => expect(Object.keys(OTHER_VALUES)).toEqual([...ENTRY_MEMBERS]));

  test.each(ENTRY_MEMBERS.map((member) => [member]))('every tool names the row with a changed %s', async (member) => {
    await changeRow({ [member]: OTHER_VALUES[member] }, false);
    await expectDetected({ workspace: /^broken at seq 150: /, python: /^broken at line 150 / });
  });

  test.each(
    ENTRY_MEMBERS.filter((member) => !['version', 'tenant_id', 'seq', 'prev_hash'].includes(member)).map((member) => [member]),
  )('the link of the next row reveals a changed %s in a rehashed row', async (member) => {
    await changeRow({ [member]: OTHER_VALUES[member] }, true);
    await expectDetected({ workspace: /^broken at seq 151: /, python: /^broken at line 151 / });
  });

  test('the content reveals a changed row_hash', async () => {
    await sql(`UPDATE countersign.audit_entries SET row_hash = sha256('x') WHERE $T AND seq = 150`);
    await expectDetected({ workspace: /^broken at seq 150: .*the content hashes to/, python: /^broken at line 150 / });
  });

  test('if the last row was changed, and its hash, the head and the tree were recomputed, the seal and a kept checkpoint reveal it', async () => {
    const entries = await scenario.insider.entries(scenario.tenantId);
    await scenario.insider.rewriteLedger(scenario.tenantId, withChange(entries, ROWS.second, { actor: 'ci:other' }));
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    await expectDetected({ workspace: NOT_SEALED, kept: /second-audit.*the log was rewritten/ });
  });
});

describe('removed, inserted and moved rows', () => {
  const remove = (seq: number) => sql(`DELETE FROM countersign.audit_entries WHERE $T AND seq = ${seq}`);

  test('the gap in seq reveals a removed row', async () => {
    await remove(150);
    await expectDetected({ workspace: /^broken at seq 150: seq is 151, expected 150: a row is missing/, python: /line 150 / });
  });

  test('if a row was removed and the later rows were renumbered, the hashes reveal it', async () => {
    await remove(150);
    // In two steps, because the new number of a row can still belong to the previous row.
    await sql(
      `UPDATE countersign.audit_entries
          SET seq = seq + 1000000, document = replace(document, '"seq":' || seq || ',', '"seq":' || seq - 1 || ',')
        WHERE $T AND seq > 150`,
    );
    await sql('UPDATE countersign.audit_entries SET seq = seq - 1000001 WHERE $T AND seq > 1000000');
    await expectDetected({ workspace: /^broken at seq 150: prev_hash is .* the chain is broken here/, python: /line 150 / });
  });

  test('the head reveals a row inserted after the last one', async () => {
    await sql(
      `INSERT INTO countersign.audit_entries SELECT tenant_id, ${ROWS.second + 1}, gen_random_uuid(), recorded_at, recorded_by, actor, action,
              trace_id, agent_id, row_hash, sha256('x'), document FROM countersign.audit_entries WHERE $T AND seq = ${ROWS.second}`,
    );
    const result = await scenario.runCheck('audit', 'workspace');
    expect(result).toEqual({ status: 1, output: expect.stringMatching(new RegExp(`^broken at seq ${ROWS.second + 1}: `)) });
  });

  test('the seal and a kept checkpoint reveal a row inserted in the middle of a relinked chain', async () => {
    const entries = await scenario.insider.entries(scenario.tenantId);
    await scenario.insider.rewriteLedger(scenario.tenantId, [
      ...entries.slice(0, 150),
      { ...entries[150]!, id: OTHER_VALUES.id as string },
      ...entries.slice(150),
    ]);
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    await expectDetected({ workspace: NOT_SEALED, kept: /second-audit.*the log was rewritten.*the first 120 rows match/ });
  });

  test('seq in the hashed text reveals two swapped rows', async () => {
    await sql('UPDATE countersign.audit_entries SET seq = 100000, prev_hash = sha256($1) WHERE $T AND seq = 150', ['x']);
    await sql('UPDATE countersign.audit_entries SET seq = 150 WHERE $T AND seq = 151');
    await sql('UPDATE countersign.audit_entries SET seq = 151 WHERE $T AND seq = 100000');
    await expectDetected({ workspace: /^broken at seq 150: seq is 151, expected 150/, python: /line 150 / });
  });

  test('the gap in seq, and tenant_id in the hashed text, reveal a row moved to another tenant', async () => {
    await scenario.insider.sql('DELETE FROM countersign.audit_entries WHERE $T AND seq = 150', scenario.otherId);
    await sql(`UPDATE countersign.audit_entries SET tenant_id = '${scenario.otherId}' WHERE $T AND seq = 150`);
    await expectDetected({ workspace: /^broken at seq 150: seq is 151/, python: /line 150 / });
    expect(await scenario.run('ledger', 'verify', '--workspace', 'other')).toEqual({
      status: 1,
      output: expect.stringMatching(/^broken at seq 150: tenant_id is not .*: the row belongs to another tenant/),
    });
  });

  test('the time of the previous row reveals a backdated row; after relinking the chain, the checkpoints reveal it', async () => {
    await changeRow({ recorded_at: '2020-01-01T00:00:00.000Z' }, true);
    await expectDetected({
      workspace: /^broken at seq 150: recorded_at .* is earlier than recorded_at of the previous row/,
      python: /line 150 /,
    });
    await scenario.insider.undo();
    const entries = await scenario.insider.entries(scenario.tenantId);
    await scenario.insider.rewriteLedger(
      scenario.tenantId,
      withChange(entries, 150, { recorded_at: entries[148]!.recorded_at, actor: 'ci:earlier' }),
    );
    await expectDetected({ workspace: /the stored checkpoint of size 330: .*the log was rewritten/, kept: /second-audit/ });
  });
});

describe('a truncated ledger', () => {
  const cut = (last: number) => sql(`DELETE FROM countersign.audit_entries WHERE $T AND seq > ${last}`);

  test('the head reveals it, and a kept checkpoint covers more rows than the export has', async () => {
    await cut(300);
    await expectDetected({
      workspace: /^broken at seq 301: the row is gone: the head says that the log has 330 rows/,
      file: /second-audit: it covers 330 rows, but the log ends after 300: its tail was cut off/,
      python: /tail was cut off/,
    });
  });

  test('if head and tree were moved back too, the stored checkpoint, the seal and a kept checkpoint reveal it', async () => {
    await cut(300);
    await sql(
      `UPDATE countersign.log_heads SET row_hash = (SELECT row_hash FROM countersign.audit_entries WHERE $T AND seq = 300) WHERE $T AND log = 'audit'`,
    );
    await scenario.insider.regrow(scenario.tenantId, 'audit');
    const kept = /second-audit: it covers 330 rows, but the log ends after 300: its tail was cut off/;
    await expectDetected({
      workspace: /the stored checkpoint of size 330: it covers 330 rows, but the log ends after 300/,
      kept: /covers 330 rows, but the log ends after 300/,
      file: kept,
    });
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    await expectDetected({ workspace: NOT_SEALED, kept, python: /tail was cut off/ });
  });

  test('only the kept checkpoints reveal a ledger that was truncated, resealed and extended with other rows', async () => {
    const entries = await scenario.insider.entries(scenario.tenantId);
    await scenario.insider.rewriteLedger(scenario.tenantId, entries.slice(0, 300));
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    await scenario.resealWithSecret();
    await scenario.append(scenario.key, 40);
    await expectDetected({
      workspace: /^valid: 340/,
      kept: /second-audit: the first 330 rows make the root/,
      python: /does not match/,
    });
  });
});

const withChange = (entries: readonly ForgedEntry[], seq: number, change: Partial<ForgedEntry>): ForgedEntry[] =>
  entries.map((entry, index) => (index === seq - 1 ? { ...entry, ...change } : entry));

describe('a rewritten chain with correct hashes, head, tree and nodes', () => {
  const rewrite = async (seq: number, change: Partial<ForgedEntry> = { actor: 'ci:innocent' }) =>
    scenario.insider.rewriteLedger(scenario.tenantId, withChange(await scenario.insider.entries(scenario.tenantId), seq, change));

  test('the latest stored checkpoint does not match, and the report names the largest checkpoint that matches', async () => {
    await rewrite(200);
    await expectDetected({
      workspace: /the stored checkpoint of size 330: .*the first 120 rows match the stored checkpoint of size 120/,
      kept: /size 330|second-audit/,
      file: /second-audit.*the first 120 rows match .*first-audit/,
      python: /does not match.*the first 120 rows match another kept head/,
    });
  });

  test('without stored checkpoints, the seal of the head and the kept checkpoints reveal it', async () => {
    await rewrite(7);
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    await expectDetected({
      workspace: NOT_SEALED,
      kept: /first-audit: the first 120 rows make the root .*the log was rewritten/,
    });
  });

  test('the signed notes reveal changed columns of the stored checkpoints', async () => {
    await rewrite(200);
    await sql(`UPDATE countersign.checkpoints SET root = sha256('x') WHERE $T AND log = 'audit' AND size = 330`);
    await expectDetected({
      workspace: /the stored checkpoint of size 330: its columns differ from its note/,
      kept: /its columns differ from its note|second-audit/,
      file: /second-audit/,
    });
  });

  test('`ledger verify` reports a changed or deleted node of the stored tree', async () => {
    await sql(`UPDATE countersign.tree_nodes SET hash = sha256('x') WHERE $T AND log = 'audit'`);
    expect(await scenario.runCheck('audit', 'workspace')).toEqual({
      status: 1,
      output: expect.stringMatching(/the stored subtree of rows 1 to 256: it differs from the rows/),
    });
    await sql(`DELETE FROM countersign.tree_nodes WHERE $T AND log = 'audit'`);
    expect((await scenario.runCheck('audit', 'workspace')).output).toMatch(/the stored subtree of rows 1 to 256: it is gone/);
  });

  test("the signatures reveal stored notes that were rewritten without the instance's key", async () => {
    await rewrite(200);
    await sql(`UPDATE countersign.checkpoints SET note = replace(note, E'\\n330\\n', E'\\n331\\n') WHERE $T AND size = 330`);
    await expectDetected({
      workspace: /the stored checkpoint of size 330: .*signature of .* is wrong: this instance did not sign it/,
      kept: /is wrong|second-audit/,
      file: /second-audit/,
    });
  });

  test('`ledger checkpoint` refuses to sign a checkpoint that contradicts an earlier one', async () => {
    await rewrite(200);
    await scenario.resealWithSecret();
    await scenario.append(scenario.key, 1);
    expect(await scenario.run('ledger', 'checkpoint', '--workspace', 'victim')).toEqual({
      status: 1,
      output: expect.stringMatching(/does not match its checkpoint of size 330; `ledger verify` says what is wrong/),
    });
  });

  test('`ledger checkpoint` also refuses to sign if the original row hashes were restored, but not a stored node', async () => {
    await sql('CREATE TABLE abandoned AS SELECT seq, row_hash FROM countersign.audit_entries WHERE $T');
    await rewrite(300);
    await scenario.resealWithSecret();
    await scenario.append(scenario.key, 2 * 256 - ROWS.second);
    await sql(`UPDATE countersign.audit_entries AS e SET row_hash = abandoned.row_hash
                 FROM abandoned WHERE e.$T AND e.seq = abandoned.seq`);
    await sql('DROP TABLE abandoned');
    const checkpoint = (...options: string[]) => scenario.run('ledger', 'checkpoint', '--workspace', 'victim', ...options);
    expect(await checkpoint()).toEqual({
      status: 1,
      output: expect.stringMatching(/does not match its checkpoint of size 330; `ledger verify` says what is wrong/),
    });
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    expect(await checkpoint('--output', scenario.auditorFile('second-audit'))).toEqual({
      status: 1,
      output: expect.stringMatching(
        /the log audit does not continue the checkpoint in ".*second-audit": the file was not changed/,
      ),
    });
  });

  test('an unsigned head kept from a response header reveals it too', async () => {
    const { headers } = await (await scenario.server()).post(paths.promotionCheck, scenario.key, { agent_name: 'bot' });
    await rewrite(200);
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    const file = scenario.auditorFile('rewritten.ndjson');
    await scenario.run('ledger', 'export', '--workspace', 'victim', '--output', file);
    const head = ['--head', headers.get('countersign-checkpoint')!];
    expect(await scenario.run('ledger', 'verify', '--file', file, ...head)).toEqual({
      status: 1,
      output: expect.stringMatching(/^broken: the kept head of size 33\d: .*the log was rewritten/),
    });
    expect(await scenario.python('ledger', file, ...head)).toMatchObject({
      status: 1,
      output: expect.stringMatching(/does not match/),
    });
  });
});
