import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LIST_EVERY_MS, until } from '../../../embedded-database/test/harness/processes.ts';
import { connectClient } from '../../src/database/client.ts';
import { MIGRATION_LOCK } from '../../src/database/migrate.ts';
import { createMasterSecret, createSigningKey } from '../../src/secrets/secret-files.ts';
import { Callers } from '../fixtures/callers.ts';
import { socketUrl } from '../fixtures/process-environment.ts';
import { expectStored } from '../fixtures/records.ts';
import { newKey } from '../fixtures/run-command.ts';
import { CommandProcess, DataFolder, run, ServerProcess } from '../fixtures/server-process.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { sealedPool } from '../harness/sealed.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths } from '../harness/test-server.ts';

/** The promised maximum duration of a shutdown. */
const STOP_MS_MAX = 10_000;

let folder: DataFolder;
let server: ServerProcess;
let tenantId: string;
let key: string;

beforeAll(async () => {
  folder = DataFolder.migrated();
  server = await ServerProcess.start(folder.environment);
  ({ tenantId, key } = await newKey(folder.environment, 'shutdown'));
});

beforeEach(async () => {
  if (server.hasEnded) server = await ServerProcess.start(folder.environment);
});

afterAll(async () => {
  if (server?.hasEnded === false) await server.end('SIGTERM');
  await folder.clear();
});

/** Starts callers, and returns them when the server has acknowledged 64 requests. */
async function startBusyCallers(): Promise<Callers> {
  const callers = new Callers({ url: server.url, key }, 16);
  await until('the callers are sending', () => callers.acknowledged.length >= 64);
  return callers;
}

/** Expects a clean shutdown: in time, exit code 0, nothing left running, and no error in the log. */
async function expectCleanShutdown(stopping: ServerProcess, signalledAt = Date.now()): Promise<void> {
  expect(await stopping.ended).toBe(0);
  expect(Date.now() - signalledAt).toBeLessThan(STOP_MS_MAX);
  expect(folder.hasDatabase()).toBe(false);
  await until('the keeper has ended too', () => folder.isStopped(), LIST_EVERY_MS);
  expect(stopping.errorLogLines).toEqual([]);
}

/**
 * Stops the callers. Expects that all acknowledged requests are stored, and that no unconfirmed request is stored. Unconfirmed promotion
 * checks are not looked up.
 */
async function expectOnlyAcknowledgedStored(callers: Callers): Promise<void> {
  await callers.stop();
  expect(callers.unexpectedResponses).toEqual([]);
  const database = await acquireEmbeddedDatabase({ dataDir: folder.path, notify: () => undefined });
  const pool = sealedPool(database.superuser, folder.path);
  try {
    await expectStored(pool, tenantId, callers.acknowledged);
    const { rows } = await pool.query(
      `SELECT name AS marker FROM countersign.evaluations WHERE name = ANY ($1::text[])
       UNION ALL SELECT trace_id FROM countersign.audit_entries WHERE trace_id = ANY ($1::text[])
       UNION ALL SELECT trace_id FROM countersign.telemetry_events WHERE trace_id = ANY ($1::text[])
       UNION ALL SELECT span_id FROM countersign.spans WHERE span_id = ANY ($1::text[])`,
      [callers.unconfirmed.map(({ marker }) => marker)],
    );
    expect(rows).toEqual([]);
  } finally {
    await pool.end();
    await database.release();
  }
}

/** The first lines of a request that appends an audit entry, without the headers that describe the length of its body. */
const appendRequestHead = () =>
  `POST ${paths.audit} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;

describe('shutdown', () => {
  test('after SIGTERM under load, the server completes all accepted requests and stops the database; the next start works', async () => {
    const callers = await startBusyCallers();
    const signalledAt = Date.now();
    server.child.kill('SIGTERM');
    await expectCleanShutdown(server, signalledAt);
    server = await ServerProcess.start(folder.environment);
    await expectOnlyAcknowledgedStored(callers);
  });

  test('further signals do not interrupt a clean shutdown', async () => {
    // The server waits for the rest of this body, so it still runs when the signals arrive. At the end of a shutdown, Node removes the
    // signal handlers, and a signal would end the process.
    const body = JSON.stringify({ actor: 'ci', action: 'test.signals' });
    const unfinished = await connectAndWrite(`${appendRequestHead()}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
    const callers = await startBusyCallers();
    const signalledAt = Date.now();
    server.child.kill('SIGTERM');
    await until('the server is stopping', () => /"msg":"stopping"/.test(server.stdout));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) server.child.kill(signal);
    unfinished.write(body.slice(-1));
    expect(String((await once(unfinished, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
    await expectCleanShutdown(server, signalledAt);
    await expectOnlyAcknowledgedStored(callers);
    unfinished.destroy();
  });

  test('Ctrl-C, which reaches the whole process group, shuts down cleanly', async () => {
    const callers = await startBusyCallers();
    const signalledAt = Date.now();
    process.kill(-server.pid, 'SIGINT');
    await expectCleanShutdown(server, signalledAt);
    await expectOnlyAcknowledgedStored(callers);
  });

  test('slow bodies, unfinished headers and idle connections do not delay the shutdown beyond 10 seconds', async () => {
    const head = appendRequestHead();
    const body = JSON.stringify({ actor: 'ci', action: 'test.idle' });
    const sockets = await Promise.all([
      connectAndWrite(`${head}Content-Length: 1000\r\n\r\n{"actor":`),
      connectAndWrite(`${head}Transfer-Encoding: chunked\r\n\r\n9\r\n{"actor":\r\n`),
      connectAndWrite(`${head}X-Unfinished`),
      connectAndWrite(`${head}Content-Length: ${body.length}\r\n\r\n${body}`),
      connectAndWrite(''),
    ]);
    await once(sockets[3]!, 'data');
    const signalledAt = Date.now();
    server.child.kill('SIGTERM');
    await expectCleanShutdown(server, signalledAt);
    for (const socket of sockets) socket.destroy();
  });

  test('keep-alive connections are closed as soon as they are idle, so the server does not wait for its timeout of 5 seconds', async () => {
    const callers = await startBusyCallers();
    const signalledAt = Date.now();
    server.child.kill('SIGTERM');
    await callers.stop();
    await expectCleanShutdown(server, signalledAt);
    expect(Date.now() - signalledAt).toBeLessThan(4_500);
  });

  test('a hanging database does not delay the shutdown beyond 10 seconds', { timeout: 60_000 }, async () => {
    const callers = await startBusyCallers();
    const backends = folder.backends();
    for (const pid of [folder.postmaster(), ...backends]) process.kill(pid, 'SIGSTOP');
    await sleep(200);
    const signalledAt = Date.now();
    expect(await server.end('SIGTERM')).toBe(0);
    expect(Date.now() - signalledAt).toBeLessThan(STOP_MS_MAX);
    await callers.stop();
    await until('the database is ended by force', () => folder.isStopped(), LIST_EVERY_MS);
    for (const pid of backends) process.kill(pid, 'SIGCONT');
  });

  test('a command uses the database of the running server, and does not stop that database', async () => {
    const postmaster = folder.postmaster();
    expect(await run(['workspace', 'list'], folder.environment)).toContain(tenantId);
    expect(folder.postmaster()).toBe(postmaster);
    const callers = await startBusyCallers();
    await run(['ledger', 'verify', '--workspace', 'shutdown'], folder.environment);
    await callers.stop();
    expect([...callers.unconfirmed, ...callers.unexpectedResponses]).toEqual([]);
    expect(folder.postmaster()).toBe(postmaster);
  });

  test('a server that starts while another one stops takes over the database', async () => {
    const callers = await startBusyCallers();
    const stopping = server;
    stopping.child.kill('SIGTERM');
    server = await ServerProcess.start(folder.environment);
    expect(await stopping.ended).toBe(0);
    await expectOnlyAcknowledgedStored(callers);
    const after = await startBusyCallers();
    await after.stop();
    expect([...after.unconfirmed, ...after.unexpectedResponses]).toEqual([]);
  });
});

describe('a stop signal during the start', () => {
  let database: TestDatabase;
  let starting: CommandProcess;
  let migrator: pg.Client;

  /** Starts a server that waits for the migration lock, as if another process migrated the database. Then sends SIGTERM to the server. */
  beforeEach(async () => {
    database = await emptyDatabase();
    migrator = await connectClient(database.owner, 'migrate');
    await migrator.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    starting = new CommandProcess(['serve'], {
      DATABASE_URL: socketUrl(database.server),
      COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(database.owner),
      COUNTERSIGN_MASTER_SECRET: createMasterSecret(),
      COUNTERSIGN_SIGNING_KEY: createSigningKey(),
      COUNTERSIGN_PORT: '0',
    });
    await waitForBlockedStatements(database);
    starting.child.kill('SIGTERM');
    await until('the server is stopping', () => starting.stdout.includes('"msg":"stopping"'));
  });

  afterEach(async () => {
    starting.child.kill('SIGKILL');
    await migrator.end();
    await database.drop();
  });

  test('ends the server within 10 seconds, even if the start does not continue', async () => {
    const signalledAt = Date.now();
    expect(await starting.ended).toBe(0);
    expect(Date.now() - signalledAt).toBeLessThan(STOP_MS_MAX);
  });

  test('ends the server before it listens', async () => {
    await migrator.end();
    expect(await starting.ended).toBe(0);
    expect(starting.output).not.toMatch(/"msg":"ready"|http:/);
  });
});

/** Opens a connection and sends only this text. */
async function connectAndWrite(text: string): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}
