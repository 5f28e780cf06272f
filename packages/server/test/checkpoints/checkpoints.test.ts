import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCheckpoint, originOf } from '@countersign/core/domain/checkpoint';
import pg from 'pg';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { CheckpointCopier } from '../../src/checkpoints/checkpoint-copier.ts';
import { sha256, verifyEd25519 } from '../../src/crypto/digests.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { ensureCheckpoint } from '../../src/ledger/checkpoints.ts';
import { type InstanceSigner, openSigner } from '../../src/secrets/instance-signer.ts';
import { findInstance } from '../../src/storage/instance.ts';
import type { LogName } from '../../src/storage/log-heads.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { reseal } from '../harness/sealed.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { captureLog, checkpointsOf, headText, until } from './checkpoints-of-a-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-checkpoints-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the checkpoint schedule', () => {
  test('signs one checkpoint of a log after new rows, and none without new rows', async () => {
    const server = await testServer({ checkpointSeconds: 1 });
    const { append, sizes } = checkpointsOf(server);
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    await sleep(1_300);
    expect(await sizes(tenantId)).toEqual([]);
    await append(key, 3);
    await until('the rows have a checkpoint', async () => (await sizes(tenantId)).length === 1);
    await sleep(2_300);
    expect([await sizes(tenantId), await sizes(tenantId, 'keys'), await sizes(tenantId, 'decisions')]).toEqual([[3], [1], []]);
    await append(key, 2);
    await until('the next rows have a checkpoint', async () => (await sizes(tenantId)).length === 2);
    expect(await sizes(tenantId)).toEqual([3, 5]);
    await server.stop();
  });

  test('signs a checkpoint after a wrong clock gave the last checkpoint a time in the future', async () => {
    const server = await testServer({ checkpointSeconds: 1 });
    const { append, sizes, tamper } = checkpointsOf(server);
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    await append(key, 1);
    await until('the row has a checkpoint', async () => (await sizes(tenantId)).length === 1);
    const setAhead = `UPDATE countersign.checkpoints SET signed_at = clock_timestamp() + interval '20 years' WHERE $T`;
    await tamper('checkpoints', setAhead, tenantId);
    await append(key, 1);
    await until('the next row has a checkpoint', async () => (await sizes(tenantId)).includes(2));
    await server.stop();
  });

  test('signs a checkpoint even if somebody repeatedly sets the time of the last checkpoint in the database to now', async () => {
    const server = await testServer({ checkpointSeconds: 1 });
    const { append, sizes } = checkpointsOf(server);
    const { sql } = server.database;
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    await append(key, 1);
    await until('the row has a checkpoint', async () => (await sizes(tenantId)).length === 1);
    await sql('ALTER TABLE countersign.checkpoints DISABLE TRIGGER ALL');
    await append(key, 1);
    await until('the next row has a checkpoint', async () => {
      await sql('UPDATE countersign.checkpoints SET signed_at = clock_timestamp()');
      return (await sizes(tenantId)).includes(2);
    });
    await server.stop();
  });

  test('logs a warning when the database ends its connection, and signs in the next round', async () => {
    const { log, lines } = captureLog();
    const server = await testServer({ checkpointSeconds: 1, log });
    const { append, sizes } = checkpointsOf(server);
    const { sql } = server.database;
    await sql(`CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
      'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END'`);
    await sql(`CREATE TRIGGER end_connection BEFORE INSERT ON countersign.checkpoints
      FOR EACH ROW EXECUTE FUNCTION end_connection()`);
    const tenantId = await server.workspace();
    await append(await server.key(tenantId), 1);
    await until('the warning is logged', () => lines.some((line) => line.includes('the round of checkpoints failed')));
    await sql('DROP TRIGGER end_connection ON countersign.checkpoints');
    await until('the row has a checkpoint', async () => (await sizes(tenantId)).length === 1);
    expect(lines.filter((line) => line.includes('no checkpoint was made'))).toEqual([]);
    await server.stop();
  });

  test('logs no warning when the server stops during a round', async () => {
    const { log, lines } = captureLog();
    const server = await testServer({ checkpointSeconds: 1, log });
    const tenantId = await server.workspace();
    await checkpointsOf(server).append(await server.key(tenantId), 1);
    const holder = new pg.Client(server.database.owner);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE countersign.checkpoints');
    await waitForBlockedStatements(server.database);
    const stopped = server.stop();
    await sleep(500);
    await holder.end();
    await stopped;
    expect(lines).toEqual([]);
  });

  test('signs nothing when it is switched off', async () => {
    const server = await testServer({ checkpointSeconds: undefined });
    const { append, sizes } = checkpointsOf(server);
    const tenantId = await server.workspace();
    await append(await server.key(tenantId), 1);
    await sleep(1_300);
    expect(await sizes(tenantId)).toEqual([]);
    await server.stop();
  });
});

describe('the checkpoint folder', () => {
  const file = (checkpointDir: string, tenantId: string, log: LogName, size: number) =>
    join(checkpointDir, tenantId, log, `${String(size).padStart(16, '0')}.checkpoint`);

  test('receives checkpoints byte for byte; if another file for the same size exists, the checkpoint is stored beside it', async () => {
    const checkpointDir = join(folder, 'checkpoints');
    const server = await testServer({ checkpointSeconds: 1, checkpointDir });
    const { append, sizes } = checkpointsOf(server);
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    mkdirSync(join(checkpointDir, tenantId, 'audit'), { recursive: true });
    writeFileSync(file(checkpointDir, tenantId, 'audit', 4), 'an existing file');
    await append(key, 2);
    await until('the first checkpoint is in the folder', () => readdirSync(join(checkpointDir, tenantId, 'audit')).length === 2);
    await append(key, 2);
    await until('the second checkpoint is signed', async () => (await sizes(tenantId)).length === 2);
    await sleep(300);
    const names = readdirSync(join(checkpointDir, tenantId, 'audit')).map((name) => name.replace(/\.[0-9a-f]{8}\./, '.DIGEST.'));
    expect(names.sort()).toEqual([
      '0000000000000002.checkpoint',
      '0000000000000004.DIGEST.checkpoint',
      '0000000000000004.checkpoint',
    ]);
    expect(readFileSync(file(checkpointDir, tenantId, 'audit', 4), 'utf8')).toBe('an existing file');
    const [stored] = await server.database.sql<{ note: string }>(
      `SELECT note FROM countersign.checkpoints WHERE tenant_id = $1 AND log = 'audit' AND size = 2`,
      [tenantId],
    );
    expect(readFileSync(file(checkpointDir, tenantId, 'audit', 2), 'utf8')).toBe(stored!.note);
    expect(readdirSync(join(checkpointDir, tenantId)).sort()).toEqual(['audit', 'keys']);
    await server.stop();
  });

  test('causes no database query when it has the newest checkpoint', async () => {
    const server = await testServer({ checkpointSeconds: undefined });
    const { append, signHead } = checkpointsOf(server);
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const written: number[] = [];
    const sink = {
      write: async (_tenant: string, _log: LogName, { size }: { size: number }) => {
        written.push(size);
        return undefined;
      },
      has: async () => false,
      sizes: async () => [],
    };
    const copier = new CheckpointCopier(server.open.ledgerPool, {
      sink,
      readKeys: async () => server.open.signer.keys,
      logger: captureLog().log,
    });
    const connectSpy = vi.spyOn(server.open.ledgerPool, 'connect');
    const queriesDatabase = async (newest?: number) => {
      connectSpy.mockClear();
      await copier.copyNew(tenantId, 'audit', newest);
      return connectSpy.mock.calls.length > 0;
    };
    await append(key, 2);
    await signHead(tenantId);
    expect([await queriesDatabase(2), written]).toEqual([true, [2]]);
    expect([await queriesDatabase(2), await queriesDatabase(1), written]).toEqual([false, false, [2]]);
    await append(key, 1);
    await signHead(tenantId);
    expect([await queriesDatabase(), written]).toEqual([true, [2, 3]]);
  });

  test('receives all missing checkpoints after failed writes, which the server logs', async () => {
    const checkpointDir = join(folder, 'later'); // does not exist, like an unmounted volume: the server must not create it
    const { log, lines } = captureLog();
    const server = await testServer({ checkpointSeconds: 1, checkpointDir, log });
    const { append, sizes } = checkpointsOf(server);
    const tenantId = await server.workspace();
    await append(await server.key(tenantId), 2);
    const isLogged = () =>
      lines.some((line) => line.includes('"level":50') && line.includes('was not written to COUNTERSIGN_CHECKPOINT_DIR'));
    await until('a checkpoint exists and the error is logged', async () => (await sizes(tenantId)).at(-1) === 2 && isLogged());
    await append(await server.key(tenantId), 2);
    await until('another checkpoint exists', async () => (await sizes(tenantId)).at(-1) === 4);
    mkdirSync(checkpointDir);
    const isInFolder = (size: number) => () => {
      try {
        return readFileSync(file(checkpointDir, tenantId, 'audit', size), 'utf8').startsWith(originOf(tenantId, 'audit'));
      } catch {
        return false;
      }
    };
    await until('the later checkpoint is in the folder', isInFolder(4));
    expect(isInFolder(2)()).toBe(true);
    await server.stop();
  });
});

describe('a rewritten log', () => {
  test('is not signed again: the server logs an error and responds with 500', async () => {
    const { log, lines } = captureLog();
    const server = await testServer({ checkpointSeconds: 1, log });
    const { append, sizes, tamper } = checkpointsOf(server);
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const token = await mintKey(server.open.pool, tenantId, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
    await append(key, 5);
    await until('a checkpoint exists', async () => (await sizes(tenantId)).length === 1);
    await tamper('audit_entries', `UPDATE countersign.audit_entries SET row_hash = sha256('x') WHERE $T AND seq = 2`, tenantId);
    await append(key, 1);
    await until('the error is logged', () =>
      lines.some((line) => line.includes('no checkpoint was made') && line.includes('LogRewrittenError')),
    );
    for (const path of ['audit/checkpoint', 'audit/inclusion/1']) {
      const response = await fetch(`${server.url}/api/ledger/${path}`, { headers: { authorization: `Bearer ${token}` } });
      expect([response.status, await response.json()], path).toEqual([
        500,
        { error: 'log_rewritten', issues: [expect.objectContaining({ message: expect.stringContaining('ledger verify') })] },
      ]);
    }
    expect(await sizes(tenantId)).toEqual([5]);
    expect((await sizes(tenantId, 'keys')).length).toBeGreaterThan(0);
    await server.stop();
  });
});

describe('two servers on one database', () => {
  test('sign at most one checkpoint for each size of a log, with the root of that many rows, and log no warning', async () => {
    const { log, lines } = captureLog();
    const first = await testServer({ checkpointSeconds: 1, log });
    const other = await testServer({ checkpointSeconds: 1, log, database: first.database });
    const tenantId = await first.workspace();
    const key = await first.key(tenantId);
    const rowCounts = { audit: 540, decisions: 40, keys: 11 };
    let isWriting = true;
    let signedRounds = 0;
    const writeOn = (server: TestServer, rows: { entries: number; checks: number; keys: number }) =>
      Promise.all([
        checkpointsOf(server).append(key, rows.entries),
        ...Array.from({ length: rows.checks }, () => server.post(paths.promotionCheck, key, { agent_name: 'bot' })),
        ...Array.from({ length: rows.keys }, () => server.key(tenantId)),
      ]);
    /** Writes the rows in two parts. Between them, each log gets a checkpoint of a smaller size than the last one. */
    const write = async () => {
      await Promise.all([first, other].map((server) => writeOn(server, { entries: 200, checks: 15, keys: 4 })));
      const roundsBefore = signedRounds;
      await until('the logs were signed again', () => signedRounds >= roundsBefore + 4);
      await Promise.all([first, other].map((server) => writeOn(server, { entries: 50, checks: 5, keys: 1 })));
    };
    const writing = write().finally(() => {
      isWriting = false;
    });
    /** Signs checkpoints of the three logs while rows are written. */
    const sign = async (server: TestServer) => {
      for (; isWriting; await sleep(20)) {
        for (const name of Object.keys(rowCounts) as LogName[]) await checkpointsOf(server).signHead(tenantId, name);
        signedRounds += 1;
      }
    };
    await Promise.all([writing, sign(first), sign(other)]);
    for (const [name, rows] of Object.entries(rowCounts) as [LogName, number][]) {
      const heads = await Promise.all(
        [first, other, first, other].map((server) => checkpointsOf(server).signHead(tenantId, name)),
      );
      expect(new Set(heads.map(headText)).size).toBe(1);
      const sizes = await checkpointsOf(other).expectCorrectCheckpoints(tenantId, name);
      expect([name, sizes.at(-1), new Set(sizes).size]).toEqual([name, rows, sizes.length]);
      expect([name, sizes.length > 1]).toEqual([name, true]);
      const { status, out } = await runCommand(environmentOf(first), 'ledger', 'verify', '--workspace', tenantId, '--log', name);
      expect([status, out]).toEqual([0, expect.stringMatching(new RegExp(`^valid: ${rows} entries, head [0-9a-f]{64}`))]);
    }
    await other.stop();
    expect(lines).toEqual([]);
  });
});

describe('a head whose tree does not match its rows', () => {
  test('is not signed', async () => {
    const server = await testServer({ checkpointSeconds: undefined });
    const { append, sizes, tamper } = checkpointsOf(server);
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    await append(key, 3);
    await tamper(
      'log_heads',
      `UPDATE countersign.log_heads SET frontier = sha256('x') || sha256('y') WHERE $T AND log = 'audit'`,
      tenantId,
    );
    // The head is resealed with the master secret; otherwise the seal check fails first (attacks/sealed-heads.test.ts).
    await reseal(server.open.pool, tenantId);
    const restarted = await testServer({ checkpointSeconds: undefined, database: server.database });
    await checkpointsOf(restarted).append(key, 1);
    await expect(checkpointsOf(restarted).signHead(tenantId)).rejects.toThrow('does not match the tree of its rows');
    expect(await sizes(tenantId)).toEqual([]);
  });
});

describe('a checkpoint signed before a signing key was added', () => {
  test('is returned with the signature of the new key too, and its stored form does not change', async () => {
    const server = await testServer({ checkpointSeconds: undefined });
    const { append } = checkpointsOf(server);
    const tenantId = await server.workspace();
    await append(await server.key(tenantId), 2);
    const [oldKey] = server.open.signer.keys;
    const { privateKey } = generateKeyPairSync('ed25519');
    const newSigner = await openSigner(server.open.pool, (await findInstance(server.open.pool))!, {
      ...server.open.secrets,
      signingKey: privateKey,
      previousSigningKey: server.open.secrets.signingKey,
    });
    const checkpointSignedBy = (signers: InstanceSigner['keys']) =>
      inTenantTransaction(server.open.pool, tenantId, (tx) => ensureCheckpoint(tx, signers, { log: 'audit' }, undefined));
    const before = await checkpointSignedBy([oldKey!]);
    const after = await checkpointSignedBy(newSigner.keys);
    for (const key of newSigner.keys)
      expect(openCheckpoint(after.note, [key], verifyEd25519, sha256)).toMatchObject({ head: { size: 2 } });
    expect(after.note.startsWith(before.note)).toBe(true);
    expect((await checkpointSignedBy([oldKey!])).note).toBe(before.note);
  });
});
