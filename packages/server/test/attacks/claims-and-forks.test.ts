import { writeFileSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { ensureCheckpoint } from '../../src/ledger/checkpoints.ts';
import { paths } from '../harness/test-server.ts';
import { CHECKS, LedgerUnderAttack, ROWS } from './ledger-under-attack.ts';

let scenario: LedgerUnderAttack;
beforeAll(async () => {
  scenario = await LedgerUnderAttack.make();
});
afterEach(() => scenario.undo());

const exportLedger = async (name: string) => {
  await scenario.run('ledger', 'export', '--workspace', 'victim', '--output', scenario.auditorFile(name));
  return scenario.auditorFile(name);
};

describe('an entry whose actor names another sender', () => {
  test.each(['promotion-gate', 'system:promotion-gate', 'operator', 'user:3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'])(
    'recorded_by names the key that wrote the entry, even if actor is %s',
    async (actor) => {
      const body = { actor, action: 'promotion.allowed', subject: 'bot', recorded_by: actor, metadata: { recorded_by: actor } };
      const server = await scenario.server();
      const claimResponse = await server.post(paths.audit, scenario.key, body);
      const { recorded_by: _, ...bodyWithoutClaim } = body;
      // The server either rejects or ignores the member `recorded_by` of a request, and never stores its value.
      const response =
        claimResponse.status === 200 ? claimResponse : await server.post(paths.audit, scenario.key, bodyWithoutClaim);
      expect(response.status).toBe(200);
      const lines = (await scenario.run('ledger', 'export', '--workspace', 'victim')).output.split('\n');
      const row = JSON.parse(lines.find((line) => line.includes(response.body.row_hash))!);
      expect(row).toMatchObject({ actor, recorded_by: `key:${scenario.key.slice(8, 20)}` });
    },
  );

  test('the seal and a kept checkpoint detect a changed recorded_by after every hash was recomputed', async () => {
    const entries = await scenario.insider.entries(scenario.tenantId);
    await scenario.insider.rewriteLedger(
      scenario.tenantId,
      entries.map((entry, index) => (index === 99 ? { ...entry, recorded_by: 'system:promotion-gate' } : entry)),
    );
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    const { workspace, workspaceWithKeptCheckpoints, file, python } = await scenario.runChecks('audit', ...CHECKS);
    expect(workspace).toEqual({ status: 1, output: expect.stringMatching(/the stored head: its seal is not valid/) });
    for (const result of [workspaceWithKeptCheckpoints, file, python])
      expect(result).toMatchObject({ status: 1, output: expect.stringMatching(/first-audit.*(rewritten|not met)/) });
  });
});

describe('a fork: two readers see different histories', () => {
  /** Truncates the ledger, seals its new head with the master secret, appends other entries, and has the instance sign the result. */
  const fork = async () => {
    const entries = await scenario.insider.entries(scenario.tenantId);
    await scenario.insider.rewriteLedger(scenario.tenantId, entries.slice(0, ROWS.second - 20));
    await scenario.insider.deleteCheckpoints(scenario.tenantId);
    await scenario.resealWithSecret();
    await scenario.append(scenario.key, 20);
    const { open } = await scenario.server();
    const { note } = await inTenantTransaction(open.pool, scenario.tenantId, (tx) =>
      ensureCheckpoint(tx, open.signer.keys, { log: 'audit' }, undefined),
    );
    writeFileSync(scenario.auditorFile('forked'), note);
  };

  test('a comparison of two signed checkpoints of the same size reveals that their roots differ', async () => {
    await fork();
    const file = await exportLedger('fork.ndjson');
    const bothCheckpoints = [
      '--checkpoint',
      scenario.auditorFile('second-audit'),
      '--checkpoint',
      scenario.auditorFile('forked'),
      '--key',
      scenario.auditorFile('vkey'),
    ];
    expect(await scenario.run('ledger', 'verify', '--file', file, ...bothCheckpoints)).toEqual({
      status: 1,
      output: expect.stringMatching(
        /forked: it and .*second-audit have the same size but different roots: the log was forked; both are signed/,
      ),
    });
    expect(await scenario.python('ledger', file, ...bothCheckpoints)).toMatchObject({
      status: 1,
      output: expect.stringMatching(/forked/),
    });
  });

  test('the forked ledger is valid in the database, but a kept checkpoint of the original history does not match it', async () => {
    await fork();
    const { workspace, file, python } = await scenario.runChecks('audit', 'workspace', 'file', 'python');
    expect(workspace.status).toBe(0);
    for (const result of [file, python])
      expect(result).toMatchObject({
        status: 1,
        output: expect.stringMatching(/second-audit.*the first 120 rows match/),
      });
  });

  test('the database rejects two rows with the same predecessor even with triggers disabled', async () => {
    await expect(
      scenario.insider.sql(
        `INSERT INTO countersign.audit_entries SELECT tenant_id, 100000, gen_random_uuid(), recorded_at, recorded_by, actor, action, trace_id,
                agent_id, prev_hash, sha256('x'), document FROM countersign.audit_entries WHERE $T AND seq = 100`,
        scenario.tenantId,
      ),
    ).rejects.toThrow(/audit_entries_no_fork/);
  });
});

describe('swapped heads of two tenants', () => {
  const swap = (...columns: string[]) => scenario.insider.swap('log_heads', columns, 'audit');

  test('the hash of the last row reveals a swapped size, row hash and tree', async () => {
    await swap('seq', 'row_hash', 'tree_size', 'frontier');
    for (const workspace of ['victim', 'other'])
      expect(await scenario.run('ledger', 'verify', '--workspace', workspace), workspace).toEqual({
        status: 1,
        output: expect.stringMatching(/^broken at seq 330: the head says that the last row has the hash/),
      });
  });

  test('the root of the rows reveals a swapped tree', async () => {
    await swap('tree_size', 'frontier');
    for (const workspace of ['victim', 'other'])
      expect(await scenario.run('ledger', 'verify', '--workspace', workspace), workspace).toEqual({
        status: 1,
        output: expect.stringMatching(/the stored tree of 330 rows: the first 330 rows make the root/),
      });
  });

  test('tenant_id in each hashed row reveals swapped ledgers, trees, checkpoints and heads', async () => {
    for (const table of ['audit_entries', 'tree_nodes', 'checkpoints', 'log_heads'] as const)
      await scenario.insider.swap(table, ['tenant_id']);
    const { workspace, file, python } = await scenario.runChecks('audit', 'workspace', 'file', 'python');
    expect(workspace.output).toMatch(/^broken at seq 1: tenant_id is not .*: the row belongs to another tenant/);
    expect(file.output).toMatch(/first-audit: the checkpoint belongs to .*, but this log is /);
    expect([file.status, python.status]).toEqual([1, 1]);
  });
});

describe('a stored checkpoint or head', () => {
  test('the origin reveals a checkpoint of another tenant', async () => {
    await scenario.run('ledger', 'checkpoint', '--workspace', 'other');
    const [other] = await scenario.insider.sql<{ root: Buffer; note: string }>(
      `SELECT root, note FROM countersign.checkpoints WHERE $T AND log = 'audit'`,
      scenario.otherId,
    );
    await scenario.insider.sql(
      `UPDATE countersign.checkpoints SET root = $1, note = $2 WHERE $T AND log = 'audit' AND size = ${ROWS.second}`,
      scenario.tenantId,
      [other!.root, other!.note],
    );
    expect(await scenario.run('ledger', 'verify', '--workspace', 'victim')).toEqual({
      status: 1,
      output: expect.stringMatching(
        new RegExp(`its origin is "countersign/${scenario.otherId}": it is a checkpoint of another tenant`),
      ),
    });
  });

  test('`ledger verify` reports a corrupted tree frontier as broken', async () => {
    await scenario.insider.sql(`UPDATE countersign.log_heads SET frontier = '\\x' WHERE $T AND log = 'audit'`, scenario.tenantId);
    expect(await scenario.run('ledger', 'verify', '--workspace', 'victim')).toEqual({
      status: 1,
      output: expect.stringMatching(/^broken: the stored tree of 330 rows: its hashes do not form a tree/),
    });
  });
});
