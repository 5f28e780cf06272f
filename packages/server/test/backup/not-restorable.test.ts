import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { socketUrl } from '../fixtures/process-environment.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { emptyDatabase } from '../harness/test-database.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const scratch = mkdtempSync(join(tmpdir(), 'countersign-not-restorable-'));
let server: TestServer;
let tenantId: string;
let backupCount = 0;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace('acme');
  const key = await server.key(tenantId);
  expect((await server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' })).status).toBe(200);
  expect((await server.post(paths.telemetry, key, { events: [{ trace_id: 'run', outcome: 'success' }] })).status).toBe(200);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const nextBackupFile = () => {
  backupCount += 1;
  return join(scratch, `${backupCount}.backup`);
};
const backup = (file = nextBackupFile(), ...options: string[]) =>
  runCommand(environmentOf(server), 'backup', '--output', file, ...options);

async function restore(file: string) {
  const target = await emptyDatabase();
  const urls = { DATABASE_URL: socketUrl(target.server), COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(target.owner) };
  const result = await runCommand({ ...environmentOf(server), ...urls }, 'restore', '--input', file);
  const rows = await target.sql('SELECT FROM countersign.tenants');
  await target.drop();
  return { ...result, rows: rows.length };
}

/** Runs a statement as the superuser. Foreign keys are not checked, and only triggers that are ENABLE ALWAYS run. */
const tamper = (statement: string) =>
  server.database.sql(`BEGIN; SET LOCAL session_replication_role = replica; ${statement}; COMMIT`);

test('backup exits with 1 and names a row that refers to a missing row, and restore rejects such a backup', async () => {
  await tamper(`INSERT INTO countersign.key_last_use VALUES ('${tenantId}', '00000000-0000-4000-8000-000000000001', now())`);
  const file = nextBackupFile();
  expect(await backup(file)).toMatchObject({
    status: 1,
    out: expect.stringMatching(/key_last_use .*refers to no row of ingestion_keys/),
    err: expect.stringContaining('keep older backups'),
  });
  expect(await restore(file)).toMatchObject({
    status: 1,
    err: expect.stringMatching(/does not accept.*key_last_use.*No row was written/),
    rows: 0,
  });
  const report = await backup(nextBackupFile(), '--json');
  expect(JSON.parse(report.out)).toMatchObject({
    result: 'broken',
    restore_faults: [expect.stringContaining('key_last_use')],
    verified: { faults: [] },
  });
  await tamper('DELETE FROM countersign.key_last_use');
  expect(await backup()).toMatchObject({ status: 0 });
});

test.each([
  [
    'CREATE POLICY hide ON countersign.telemetry_submissions AS RESTRICTIVE FOR SELECT USING (false)',
    'DROP POLICY hide ON countersign.telemetry_submissions',
    /policy telemetry_submissions\.hide is not part of this schema; remedy: DROP POLICY/,
  ],
  [
    'ALTER TABLE countersign.run_id_segments ALTER COLUMN run_count TYPE bigint',
    'ALTER TABLE countersign.run_id_segments ALTER COLUMN run_count TYPE integer',
    /column run_id_segments\.run_count is .*bigint/,
  ],
])('backup exits with 1 and names a change of the schema that hides or changes rows: %s', async (change, undo, finding) => {
  await server.database.sql(change);
  expect(await backup()).toMatchObject({ status: 1, out: expect.stringMatching(finding) });
  await server.database.sql(undo);
  expect(await backup()).toMatchObject({ status: 0 });
});

test('backup warns of schema changes that neither hide nor change rows, and exits with 0', async () => {
  await server.database.sql('ALTER TABLE countersign.decisions DISABLE TRIGGER append_only');
  expect(await backup()).toMatchObject({ status: 0, err: expect.stringContaining('trigger decisions.append_only is disabled') });
  await server.database.sql('ALTER TABLE countersign.decisions ENABLE ALWAYS TRIGGER append_only');
});

test('backup reports a log that is not valid and exits with 1', async () => {
  await server.database.sql('ALTER TABLE countersign.audit_entries DISABLE TRIGGER append_only');
  await server.database.sql(`UPDATE countersign.audit_entries SET document = replace(document, '"test.ran"', '"other"')`);
  await server.database.sql('ALTER TABLE countersign.audit_entries ENABLE ALWAYS TRIGGER append_only');
  expect(await backup()).toMatchObject({ status: 1, out: expect.stringContaining('log audit: broken at seq') });
});
