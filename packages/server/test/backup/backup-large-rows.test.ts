import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { BackupManifest } from '../../src/backup/manifest.ts';
import { PART_BYTES } from '../../src/backup/table-parts.ts';
import { writeBackup } from '../../src/backup/write-backup.ts';
import { socketUrl } from '../fixtures/process-environment.ts';
import { environmentOf, runForJson } from '../fixtures/run-command.ts';
import { emptyDatabase } from '../harness/test-database.ts';
import { testServer } from '../harness/test-server.ts';

const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Returns a function that throws for this file and accepts every other file. */
const failFor = (file: string) => async (name: string) => {
  if (name === file) throw new Error('no space left');
};

test('rows longer than a part and tables of many parts are restored byte for byte, and a full disk makes a backup fail', {
  timeout: 120_000,
}, async () => {
  const warnings: string[] = [];
  const collectWarning = ({ message }: Error) => void warnings.push(message);
  process.on('warning', collectWarning);
  const server = await testServer();
  const tenantId = await server.workspace('acme');
  // Sizes below, near and several times the size of a part. The bytes are random, so compression does not make the files small.
  const sizes = [1000, PART_BYTES / 2, PART_BYTES - 200, PART_BYTES + 200, 3 * PART_BYTES, 10];
  for (const size of sizes)
    await server.database.sql(
      `INSERT INTO countersign.otlp_exports (tenant_id, id, signal, received_at, recorded_by, media_type, redacted, body)
       VALUES ($1, gen_random_uuid(), 'logs', now(), 'key:000000000000', 'application/x-protobuf', false, $2)`,
      [tenantId, randomBytes(size)],
    );
  const folder = join(scratch, 'backup');
  await runForJson(environmentOf(server), 'backup', '--output', `${folder}/`);
  const manifest: BackupManifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  const { parts } = manifest.tables.find(({ name }) => name === 'otlp_exports')!;
  expect(parts.length).toBeGreaterThan(3);
  expect(Math.max(...parts.map(({ rawBytes }) => rawBytes))).toBeGreaterThan(2 * PART_BYTES);
  expect(parts.filter(({ rawBytes, rows }) => rawBytes > PART_BYTES && rows > 1)).toEqual([]);

  // A disk that fills up in the middle of a table makes the backup fail with the error of the disk.
  const client = new pg.Client(server.database.owner);
  client.on('error', () => undefined);
  await client.connect();
  const fullDisk = { add: failFor(parts[1]!.file), finish: async () => undefined, discard: async () => undefined };
  const parameters = { madeAt: new Date().toISOString(), madeBy: 'test', encryptSecrets: undefined, progress: undefined };
  await expect(writeBackup(client, fullDisk, parameters)).rejects.toThrow('no space left');
  await client.end();

  const target = await emptyDatabase();
  try {
    const environment = {
      ...environmentOf(server),
      DATABASE_URL: socketUrl(target.server),
      COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(target.owner),
    };
    expect(await runForJson(environment, 'restore', '--input', folder)).toMatchObject({ result: 'ok' });
    const rows = `SELECT id, encode(sha256(body), 'hex') AS hash FROM countersign.otlp_exports ORDER BY id`;
    expect(await target.sql(rows)).toEqual(await server.database.sql(rows));
  } finally {
    await target.drop();
    process.off('warning', collectWarning);
  }
  expect(warnings).toEqual([]);
});
