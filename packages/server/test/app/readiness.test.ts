import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { databaseReadiness, Readiness } from '../../src/app/readiness.ts';
import { DataFolder, ServerProcess } from '../fixtures/server-process.ts';
import { cloneDatabase } from '../harness/test-database.ts';

describe('Readiness', () => {
  test('shares one check among concurrent callers and starts the next check after the first one ends', async () => {
    let checks = 0;
    const ends: ((reason: string | undefined) => void)[] = [];
    const readiness = new Readiness(() => {
      checks += 1;
      return new Promise((resolve) => ends.push(resolve));
    });
    const firstReasons = Array.from({ length: 50 }, () => readiness.reason());
    expect(checks).toBe(1);
    for (const reason of await Promise.all(firstReasons)) expect(reason).toContain('has not responded');
    const laterReasons = Promise.all([readiness.reason(), readiness.reason()]);
    expect(checks).toBe(1);
    ends[0]!(undefined);
    expect(await laterReasons).toEqual([undefined, undefined]);
    const nextReason = readiness.reason();
    expect(checks).toBe(2);
    ends[1]!('the database is empty');
    expect(await nextReason).toBe('the database is empty');
  });
});

describe('databaseReadiness', () => {
  test('is ready if the tables can be read, and otherwise says that they are missing or not readable', async () => {
    const database = await cloneDatabase();
    const lookupPool = new pg.Pool({ ...database.server, max: 1 });
    const readiness = databaseReadiness({ lookupPool });
    try {
      expect(await readiness.reason()).toBeUndefined();
      await database.sql('CREATE TABLE countersign.notes_of_administrators (note text)');
      expect(await readiness.reason()).toBeUndefined();
      await database.sql(`REVOKE USAGE ON SCHEMA countersign FROM ${pg.escapeIdentifier(database.server.user)}`);
      expect(await readiness.reason()).toBe('the database has no tables of Countersign, or this role may not read them');
    } finally {
      await lookupPool.end();
      await database.drop();
    }
  });
});

describe('/readyz while the database hangs', () => {
  const folder = DataFolder.migrated();
  let server: ServerProcess;

  beforeAll(async () => {
    server = await ServerProcess.start(folder.environment);
  });

  afterAll(async () => {
    expect(await server?.end('SIGTERM')).toBe(0);
    await folder.clear();
  });

  const fetchReadiness = async () => {
    const startedAt = performance.now();
    const response = await fetch(`${server.url}/readyz`);
    return { status: response.status, body: (await response.json()) as { reason?: string }, ms: performance.now() - startedAt };
  };

  test('responds with 503 within 2 seconds to many callers and recovers; /livez stays 200', async () => {
    expect((await fetchReadiness()).status).toBe(200);
    const hungPids = [folder.postmaster(), ...folder.backends()];
    for (const pid of hungPids) process.kill(pid, 'SIGSTOP');
    try {
      for (const callers of [1, 30]) {
        const responses = await Promise.all(Array.from({ length: callers }, fetchReadiness));
        for (const { status, body, ms } of responses) {
          expect([status, body.reason]).toEqual([503, expect.stringContaining('the database has not responded')]);
          expect(ms).toBeLessThan(2_000);
        }
      }
      expect((await fetch(`${server.url}/livez`)).status).toBe(200);
      await sleep(100);
    } finally {
      for (const pid of hungPids) process.kill(pid, 'SIGCONT');
    }
    await until('the server is ready again', async () => (await fetchReadiness()).status === 200);
  });
});
