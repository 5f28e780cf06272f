import { writeFileSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { checkpointOf } from '../../src/ledger/checkpoints.ts';
import { paths } from '../harness/test-server.ts';
import { LedgerUnderAttack, ROWS } from './ledger-under-attack.ts';

let world: LedgerUnderAttack;
beforeAll(async () => {
  world = await LedgerUnderAttack.make();
});
afterEach(() => world.undo());

const exported = async (name: string) => {
  await world.run('ledger', 'export', '--workspace', 'victim', '--output', world.kept(name));
  return world.kept(name);
};

describe('an entry whose actor names another sender', () => {
  test.each(['promotion-gate', 'system:promotion-gate', 'operator', 'user:3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24'])(
    'recorded_by names the key that wrote the entry when actor is %s',
    async (actor) => {
      const body = { actor, action: 'promotion.allowed', subject: 'bot', recorded_by: actor, metadata: { recorded_by: actor } };
      const claimed = await world.server.post(paths.audit, world.key, body);
      const { recorded_by: _, ...allowed } = body;
      // The server either rejects the member or ignores it. It never stores it.
      const answer = claimed.status === 200 ? claimed : await world.server.post(paths.audit, world.key, allowed);
      expect(answer.status).toBe(200);
      const lines = (await world.run('ledger', 'export', '--workspace', 'victim')).said.split('\n');
      const row = JSON.parse(lines.find((line) => line.includes(answer.body.row_hash))!);
      expect(row).toMatchObject({ actor, recorded_by: `key:${world.key.slice(8, 20)}` });
    },
  );

  test('a kept checkpoint detects a changed recorded_by after every hash was recomputed', async () => {
    const entries = await world.insider.entries(world.tenantId);
    await world.insider.rewriteLedger(
      world.tenantId,
      entries.map((entry, index) => (index === 99 ? { ...entry, recorded_by: 'system:promotion-gate' } : entry)),
    );
    await world.insider.forgetCheckpoints(world.tenantId);
    const { workspace, workspaceWithKept, file, python } = await world.verdicts('audit');
    expect(workspace).toEqual({ status: 1, said: expect.stringMatching(/the stored head: its seal is not valid/) });
    for (const verdict of [workspaceWithKept, file!, python!])
      expect(verdict).toMatchObject({ status: 1, said: expect.stringMatching(/first-audit.*(rewritten|not met)/) });
  });
});

describe('a fork: two readers see different histories', () => {
  /** Cuts the ledger with the master secret, continues it with other entries, and has the instance sign the result. */
  const fork = async () => {
    const entries = await world.insider.entries(world.tenantId);
    await world.insider.rewriteLedger(world.tenantId, entries.slice(0, ROWS.second - 20));
    await world.insider.forgetCheckpoints(world.tenantId);
    await world.resealByInsider();
    await world.append(world.key, 20);
    const { note } = await inTenantTransaction(world.server.open.pool, world.tenantId, (tx) =>
      checkpointOf(tx, world.server.open.signer.keys, { log: 'audit' }),
    );
    writeFileSync(world.kept('forked'), note);
  };

  test('comparing checkpoints shows one size with two signed roots', async () => {
    await fork();
    const file = await exported('fork.ndjson');
    const both = ['--checkpoint', world.kept('second-audit'), '--checkpoint', world.kept('forked'), '--key', world.kept('vkey')];
    expect(await world.run('ledger', 'verify', '--file', file, ...both)).toEqual({
      status: 1,
      said: expect.stringMatching(
        /forked: it and .*second-audit are of one size and have different roots: the log was forked; both are signed/,
      ),
    });
    expect(world.python('ledger', file, ...both)).toMatchObject({ status: 1, said: expect.stringMatching(/forked/) });
  });

  test("each reader's checkpoint does not match the other history", async () => {
    await fork();
    const { workspace, file, python } = await world.verdicts('audit');
    expect(workspace.status).toBe(0);
    for (const verdict of [file!, python!])
      expect(verdict).toMatchObject({ status: 1, said: expect.stringMatching(/second-audit.*the first 120 .*as/) });
  });

  test('the database rejects two rows with the same predecessor even with triggers disabled', async () => {
    await expect(
      world.insider.sql(
        `INSERT INTO countersign.audit_entries SELECT tenant_id, 100000, gen_random_uuid(), recorded_at, recorded_by, actor, action, trace_id,
                agent_id, prev_hash, sha256('x'), document FROM countersign.audit_entries WHERE $T AND seq = 100`,
        world.tenantId,
      ),
    ).rejects.toThrow(/audit_entries_no_fork/);
  });
});

describe('swapped heads of two tenants', () => {
  const swap = (columns: string) =>
    world.insider.sql(
      `UPDATE countersign.log_heads AS mine SET (${columns}) = (SELECT ${columns} FROM countersign.log_heads AS theirs
         WHERE theirs.log = mine.log AND theirs.tenant_id <> mine.tenant_id) WHERE log = 'audit'`,
      world.tenantId,
    );

  test('the row hash of the head reveals swapped number, hash and tree', async () => {
    await swap('seq, row_hash, tree_size, frontier');
    for (const workspace of ['victim', 'other'])
      expect(await world.run('ledger', 'verify', '--workspace', workspace), workspace).toEqual({
        status: 1,
        said: expect.stringMatching(/^broken at seq 330: the head says that the last row has row_hash/),
      });
  });

  test('the root reveals a swapped tree', async () => {
    await swap('tree_size, frontier');
    for (const workspace of ['victim', 'other'])
      expect(await world.run('ledger', 'verify', '--workspace', workspace), workspace).toEqual({
        status: 1,
        said: expect.stringMatching(/the stored tree of 330 rows: the first 330 rows make the root/),
      });
  });

  test('tenant_id in each hashed row reveals swapped ledgers, trees and checkpoints', async () => {
    const aside = '00000000-0000-4000-8000-000000000000';
    const move = async (from: string, to: string) => {
      for (const table of ['audit_entries', 'tree_nodes', 'checkpoints', 'log_heads'])
        await world.insider.sql(`UPDATE countersign.${table} SET tenant_id = '${to}' WHERE $T`, from);
    };
    await move(world.tenantId, aside);
    await move(world.otherId, world.tenantId);
    await move(aside, world.otherId);
    const { workspace, file, python } = await world.verdicts('audit');
    expect(workspace.said).toMatch(/^broken at seq 1: tenant_id is not .*: a row of another tenant/);
    expect(file!.said).toMatch(/first-audit: it is of .*: it says nothing about this log/);
    expect([file!.status, python!.status]).toEqual([1, 1]);
  });
});

describe('a stored checkpoint', () => {
  test('its origin reveals a checkpoint that belongs to another tenant', async () => {
    await world.run('ledger', 'checkpoint', '--workspace', 'other');
    await world.insider.sql(
      `UPDATE countersign.checkpoints AS mine SET (root, note) = (SELECT root, note FROM countersign.checkpoints
         WHERE tenant_id = '${world.otherId}' AND log = 'audit') WHERE $T AND log = 'audit' AND size = ${ROWS.second}`,
      world.tenantId,
    );
    expect(await world.run('ledger', 'verify', '--workspace', 'victim')).toEqual({
      status: 1,
      said: expect.stringMatching(new RegExp(`it is of "countersign/${world.otherId}": the checkpoint of another tenant`)),
    });
  });

  test('`ledger verify` reports a corrupted tree frontier without a stack trace', async () => {
    await world.insider.sql(`UPDATE countersign.log_heads SET frontier = '\\x' WHERE $T AND log = 'audit'`, world.tenantId);
    expect(await world.run('ledger', 'verify', '--workspace', 'victim')).toEqual({
      status: 1,
      said: expect.stringMatching(/^broken: the stored tree of 330 rows: its hashes are not those of a tree/),
    });
  });
});
