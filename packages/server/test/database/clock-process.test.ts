import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { environmentOf, newKey } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const PRELOAD = fileURLToPath(new URL('../fixtures/preload-shifted-clock.ts', import.meta.url));
const YEAR_MS = 365 * 24 * 3_600_000;
const WRITES: [string, object][] = [
  [paths.audit, { actor: 'ci', action: 'test.ran' }],
  [paths.evaluations, { name: 'nightly', agent_name: 'bot', pass_rate: 95, status: 'passing' }],
  [paths.promotionCheck, { agent_name: 'bot' }],
];
const TABLES = ['audit_entries', 'decisions', 'evaluations', 'key_events', 'checkpoints'];

const folder = mkdtempSync(join(tmpdir(), 'countersign-clock-'));
const clockFile = join(folder, 'shift');
const shiftClock = (ms: number) => writeFileSync(clockFile, String(ms));

describe('the clock of a server process', () => {
  /** Owns the database. The server process responds to the requests. */
  let host: TestServer;
  let server: ServerProcess;
  let key: string;
  beforeAll(async () => {
    shiftClock(0);
    host = await testServer({ checkpointSeconds: undefined }); // only the server process signs checkpoints
    const environment = environmentOf(host);
    ({ key } = await newKey(environment, 'acme'));
    server = await ServerProcess.start({
      ...environment,
      NODE_OPTIONS: `--import=${PRELOAD}`,
      TEST_CLOCK_FILE: clockFile,
      COUNTERSIGN_CHECKPOINT_SECONDS: '1',
      COUNTERSIGN_MEMORY_DIR: join(folder, 'memory'),
    });
  });
  afterAll(async () => {
    await server.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });

  const post = async (path: string, body: object) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as { error?: string } };
  };
  const countRows = async () =>
    (
      await host.database.sql(`SELECT ${TABLES.map((table) => `(SELECT count(*)::int FROM countersign.${table}) AS ${table}`)}`)
    )[0];
  const readUnsafeGauge = async () =>
    /^countersign_clock_unsafe (\d)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];
  const countLogged = (message: string) => server.stdout.split('\n').filter((line) => line.includes(message)).length;
  const countExpiredLinks = async () =>
    (
      await host.database.sql<{ count: number }>(
        `SELECT count(*)::int AS count FROM countersign.one_time_links WHERE expires_at < clock_timestamp()`,
      )
    )[0]!.count;
  const addExpiredLink = () =>
    host.database.sql(
      `INSERT INTO countersign.one_time_links (token_sha256, id, purpose, made_by, created_at, expires_at, seal)
       VALUES (sha256($1::bytea), gen_random_uuid(), 'set_up', 'operator', clock_timestamp(), clock_timestamp() - interval '1 day',
               sha256('') || '\\x00')`,
      [Buffer.from(String(Math.random()))],
    );

  test.for([20 * YEAR_MS, -3_600_000])(
    'shifted by %i ms: the server writes and deletes nothing until the clock is correct again',
    { timeout: 120_000 },
    async (shiftMs) => {
      for (const [path, body] of WRITES) expect((await post(path, body)).status).toBe(200);
      await addExpiredLink();
      await vi.waitUntil(async () => (await countExpiredLinks()) === 0, { timeout: 20_000 });
      const [jumpCount, recoveryCount] = [countLogged('clock unsafe'), countLogged('the clocks are right again')];
      shiftClock(shiftMs);
      await vi.waitUntil(async () => (await readUnsafeGauge()) === '1', { timeout: 20_000 });
      await vi.waitUntil(() => countLogged('clock unsafe') > jumpCount, { timeout: 20_000 });
      // Now every log lacks a checkpoint. The server must not sign one before the clock is correct again.
      await host.database.sql(`ALTER TABLE countersign.checkpoints DISABLE TRIGGER ALL`);
      await host.database.sql(`DELETE FROM countersign.checkpoints`);
      await host.database.sql(`ALTER TABLE countersign.checkpoints ENABLE TRIGGER ALL`);
      const before = await countRows();
      expect(before).toMatchObject({ checkpoints: 0 });
      await addExpiredLink();
      for (const [path, body] of WRITES)
        expect(await post(path, body)).toMatchObject({ status: 503, body: { error: 'clock_unsafe' } });
      const ready = await fetch(`${server.url}/readyz`);
      expect([ready.status, await ready.json()]).toEqual([
        200,
        { status: 'ready', warnings: [expect.stringMatching(/^clock unsafe: the server's clock jumped /)] },
      ]);
      await sleep(3_000); // several periods of cleanup, checkpoints and the clock watch
      expect(await countExpiredLinks()).toBe(1);
      expect(await countRows()).toEqual(before);
      expect(countLogged('clock unsafe')).toBe(jumpCount + 1);

      shiftClock(0);
      await vi.waitUntil(async () => (await post(paths.promotionCheck, { agent_name: 'bot' })).status === 200, {
        timeout: 40_000,
        interval: 200,
      });
      await vi.waitUntil(async () => (await countExpiredLinks()) === 0, { timeout: 20_000 });
      await vi.waitUntil(async () => Number((await countRows())?.checkpoints) > 0, { timeout: 20_000 });
      await vi.waitUntil(async () => (await readUnsafeGauge()) === '0', { timeout: 20_000 });
      await vi.waitUntil(() => countLogged('the clocks are right again') === recoveryCount + 1, { timeout: 20_000 });
      expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ready' });
    },
  );
});
