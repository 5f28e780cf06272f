import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkpointText, openCheckpoint, originOf, signCheckpoint } from '@countersign/core/domain/checkpoint';
import { keyId, toBase64 } from '@countersign/core/domain/signed-note';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CheckpointCopier } from '../../src/checkpoints/checkpoint-copier.ts';
import { checkpointFolder } from '../../src/checkpoints/checkpoint-folder.ts';
import { sha256, verifyEd25519 } from '../../src/crypto/digests.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { makeCheckpoint } from '../../src/ledger/checkpoints.ts';
import { openFrontier } from '../../src/ledger/log-tree.ts';
import { readSealedHead } from '../../src/ledger/sealed-heads.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { captureLog } from '../checkpoints/checkpoints-of-a-server.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { Insider } from './insider.ts';

const ENTRIES = 3;
const FORGED_ROOT = new Uint8Array(32).fill(7);

const { log, lines: logged } = captureLog();
let server: TestServer;
let insider: Insider;
let tenantId: string;
let otherId: string;
let readToken: string;
let trueRoot: Uint8Array;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined, log });
  [tenantId, otherId] = [await server.workspace('victim'), await server.workspace('other')];
  const key = await server.key(tenantId);
  for (let count = 0; count < ENTRIES; count += 1) await server.post(paths.audit, key, { actor: 'ci', action: 'deployed' });
  readToken = await mintKey(server.open.pool, tenantId, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
  const head = await inTenantTransaction(server.open.pool, tenantId, (tx) => readSealedHead(tx, 'audit'));
  expect(head.seq).toBe(ENTRIES);
  trueRoot = openFrontier(head.tree).root();
  insider = await Insider.open(server.database);
});
afterAll(() => insider.close());
afterEach(() => insider.undo());

const signers = () => server.open.signer.keys;
const origin = () => originOf(tenantId, 'audit');
const textOf = (size: number, root: Uint8Array, forOrigin = origin()) => checkpointText({ origin: forOrigin, size, root });
const insert = (size: number, root: Uint8Array, note: string) =>
  insider.sql(
    `INSERT INTO countersign.checkpoints (tenant_id, log, size, root, note) VALUES ('${tenantId}', 'audit', $1, $2, $3)`,
    tenantId,
    [size, Buffer.from(root), note],
  );
/** Inserts a checkpoint that the instance has signed for other rows, as if these rows had been abandoned in an accepted restore. */
const insertAbandoned = (size: number) =>
  insert(size, FORGED_ROOT, signCheckpoint({ origin: origin(), size, root: FORGED_ROOT }, signers(), sha256));
const requestCheckpoint = () => requestLedger('checkpoint');
async function requestLedger(path: string, token = readToken): Promise<{ status: number; text: string }> {
  const response = await fetch(`${server.url}/api/ledger/audit/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: response.status, text: await response.text() };
}

/** A signature line with the ID of the instance's current key, and 64 bytes that are not a signature by this key. */
function forgedSignature(): string {
  const signer = signers()[0]!;
  const bytes = Buffer.concat([keyId(signer, sha256), Buffer.alloc(64, 1)]);
  return `\u2014 ${signer.name} ${toBase64(bytes)}\n`;
}

describe('a checkpoint row that somebody inserted', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['with a false root', () => insert(ENTRIES, FORGED_ROOT, `${textOf(ENTRIES, FORGED_ROOT)}\n`)],
    [
      'with a false root and an unknown signature',
      () => insert(ENTRIES, FORGED_ROOT, `${textOf(ENTRIES, FORGED_ROOT)}\n\u2014 x aGVsbG8K\n`),
    ],
    [
      'with a false root in its note only',
      () => insert(ENTRIES, trueRoot, `${textOf(ENTRIES, FORGED_ROOT)}\n\u2014 x aGVsbG8K\n`),
    ],
    ['of an abandoned history', () => insertAbandoned(ENTRIES)],
    ['of an abandoned history, and of a smaller size', () => insertAbandoned(2)],
    [
      'with a size above the number of rows in the log',
      () => insert(1000, FORGED_ROOT, `${textOf(1000, FORGED_ROOT)}\n\u2014 x aGVsbG8K\n`),
    ],
    [
      'of the log of another workspace',
      () => insert(ENTRIES, trueRoot, `${textOf(ENTRIES, trueRoot, originOf(otherId, 'decisions'))}\n\u2014 x aGVsbG8K\n`),
    ],
    ['with other text', () => insert(ENTRIES, trueRoot, `DSSEv1 28 application/vnd.in-toto+json 2 {}\n\n\u2014 x aGVsbG8K\n`)],
  ])('is neither signed nor returned: a row %s', async (_what, attack) => {
    await attack();
    expect(await requestCheckpoint()).toMatchObject({ status: 500, text: expect.stringContaining('log_rewritten') });
    for (const second of [2, ENTRIES])
      expect((await requestLedger(`consistency?first=1&second=${second}`)).text).not.toContain(signers()[0]!.name);
    for (const args of [['checkpoint'], ['prove', '--seq', '1']])
      expect((await runCommand(environmentOf(server), 'ledger', ...args, '--workspace', 'victim')).status).not.toBe(0);
    expect((await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', 'victim')).status).toBe(1);
  });

  test('is returned if its root is true, with a signature of the server and without lines that are not signatures', async () => {
    await insert(ENTRIES, trueRoot, `${textOf(ENTRIES, trueRoot)}\n${forgedSignature()}not a signature\n`);
    const { status, text } = await requestCheckpoint();
    expect(status).toBe(200);
    const opened = openCheckpoint(text, signers(), verifyEd25519, sha256);
    expect(opened).toMatchObject({ head: { origin: origin(), size: ENTRIES } });
    expect(text.slice(0, textOf(ENTRIES, trueRoot).length)).toBe(textOf(ENTRIES, trueRoot));
    const proof = JSON.parse((await requestLedger(`consistency?first=1&second=${ENTRIES}`)).text);
    expect(proof.checkpoint).toBe(text);
  });

  test('of a smaller size prevents a new checkpoint only if its root is false', async () => {
    await insert(0, sha256(new Uint8Array()), `${textOf(0, sha256(new Uint8Array()))}\n\u2014 x aGVsbG8K\n`);
    expect((await requestCheckpoint()).status).toBe(200);
    await insider.undo();
    await insert(2, FORGED_ROOT, `${textOf(2, FORGED_ROOT)}\n\u2014 x aGVsbG8K\n`);
    expect(await requestCheckpoint()).toMatchObject({ status: 500, text: expect.stringContaining('log_rewritten') });
  });
});

describe('the folder COUNTERSIGN_CHECKPOINT_DIR', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-inserted-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('gets only checkpoints that the instance signed, and still gets later ones after others were inserted', async () => {
    await makeCheckpoint(server.open.pool, tenantId, signers(), { log: 'audit' });
    await insert(1, FORGED_ROOT, `${textOf(1, FORGED_ROOT)}\n\u2014 x aGVsbG8K\n`);
    await insert(1000, FORGED_ROOT, `${textOf(1000, FORGED_ROOT)}\n\u2014 x aGVsbG8K\n`);
    const errorLines: string[] = [];
    const logger = pino({}, { write: (line: string) => errorLines.push(line) });
    const readKeys = async () => signers();
    const copier = new CheckpointCopier(server.open.ledgerPool, { sink: checkpointFolder(folder), readKeys, logger });
    await copier.copyNew(tenantId, 'audit');
    expect(readdirSync(join(folder, tenantId, 'audit'))).toEqual([`${String(ENTRIES).padStart(16, '0')}.checkpoint`]);
    expect(errorLines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 50, tenantId, size: 1 },
      { level: 50, tenantId, size: 1000 },
    ]);
    await insider.sql(`DELETE FROM countersign.checkpoints WHERE $T AND size = 1000`, tenantId);
    await server.post(paths.audit, await server.key(tenantId), { actor: 'ci', action: 'deployed' });
    const next = await makeCheckpoint(server.open.pool, tenantId, signers(), { log: 'audit' });
    await copier.copyNew(tenantId, 'audit');
    expect(
      readdirSync(join(folder, tenantId, 'audit'))
        .sort()
        .at(-1),
    ).toBe(`${String(next.size).padStart(16, '0')}.checkpoint`);
  });
});

test('if a trigger drops a new checkpoint, the server returns no older one in its place, and logs an error', async () => {
  const id = await server.workspace('dropped');
  const key = await server.key(id);
  const token = await mintKey(server.open.pool, id, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
  const append = async () => (await server.post(paths.audit, key, { actor: 'ci', action: 'deployed' })).status;
  expect(await append()).toBe(200);
  expect((await requestLedger('checkpoint', token)).status).toBe(200);
  expect(await append()).toBe(200);
  await insider.sql(`CREATE FUNCTION before.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`, id);
  await insider.sql(
    'CREATE TRIGGER nothing BEFORE INSERT ON countersign.checkpoints FOR EACH ROW EXECUTE FUNCTION before.nothing()',
    id,
  );
  for (const path of ['checkpoint', 'inclusion/2'])
    expect(await requestLedger(path, token)).toMatchObject({ status: 500, text: expect.stringContaining('log_rewritten') });
  expect(logged.join()).toContain('the checkpoint of 2 rows of the log audit');
  expect(await runCommand(environmentOf(server), 'ledger', 'checkpoint', '--workspace', 'dropped')).toMatchObject({
    status: 1,
    err: expect.stringContaining('was not stored'),
  });
  await insider.sql('DROP TRIGGER nothing ON countersign.checkpoints', id);
  expect(await requestLedger('checkpoint', token)).toMatchObject({ status: 200, text: expect.stringContaining('\n2\n') });
});
