import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { openPool } from '../../src/database/pool.ts';
import { type AcknowledgedRequest, Callers, send } from '../fixtures/callers.ts';
import { ExternalPostgres, PASSWORD } from '../fixtures/external-postgres.ts';
import type { Environment } from '../fixtures/process-environment.ts';
import { expectStored } from '../fixtures/records.ts';
import { newKey, outputOf } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { APPEND_ONLY_TABLES } from '../harness/append-only.ts';
import { withSecret } from '../harness/sealed.ts';
import { cloneDatabase } from '../harness/test-database.ts';
import { paths } from '../harness/test-server.ts';

const secrets: Environment = {
  COUNTERSIGN_MASTER_SECRET: randomBytes(32).toString('base64'),
  COUNTERSIGN_SIGNING_KEY: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};

let external: ExternalPostgres;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  external = await ExternalPostgres.create();
});

afterEach(async () => {
  for (const server of servers.splice(0)) {
    if (!server.hasEnded) expect(await server.end('SIGTERM')).toBe(0);
    expect(server.output).not.toContain(PASSWORD);
    expect(server.output).not.toContain(encodeURIComponent(PASSWORD));
  }
});

afterAll(() => external?.remove());

async function serve(environment: Environment): Promise<ServerProcess> {
  const server = await ServerProcess.start(environment);
  servers.push(server);
  return server;
}

/** Creates a database and the role that owns it. Returns the environment of a server with this role. */
async function createOwnedDatabase(name: string): Promise<Environment> {
  await external.createRole(name);
  await external.sql(`CREATE DATABASE ${name} OWNER ${name}`);
  return { ...secrets, DATABASE_URL: external.url(name, name) };
}

/** Sends requests of every kind and expects that the server acknowledges all of them. */
async function expectService(server: ServerProcess, key: string): Promise<AcknowledgedRequest[]> {
  const callers = new Callers({ url: server.url, key }, 4);
  await until('40 requests are acknowledged', () => callers.acknowledged.length >= 40 || callers.unconfirmed.length > 0);
  await callers.stop();
  expect([...callers.unconfirmed, ...callers.unexpectedResponses, ...server.errorLogLines]).toEqual([]);
  return callers.acknowledged;
}

async function expectAllKept(database: string, tenantId: string, acknowledged: readonly AcknowledgedRequest[]): Promise<void> {
  const address = { connectionString: external.url('postgres', database) };
  const pool = withSecret(openPool(address, { size: 2, name: 'test' }), secrets.COUNTERSIGN_MASTER_SECRET!);
  try {
    await expectStored(pool, tenantId, acknowledged);
  } finally {
    await pool.end();
  }
}

describe('an external PostgreSQL', () => {
  test('works with an unprivileged role that owns the empty database, even if two servers start at once', async () => {
    const environment = await createOwnedDatabase('alone');
    const [one, two] = await Promise.all([serve(environment), serve(environment)]);
    const { tenantId, key } = await newKey(environment, 'acme');
    const acknowledged = (await Promise.all([expectService(one, key), expectService(two, key)])).flat();
    await expectAllKept('alone', tenantId, acknowledged);
    expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], environment)).toBeDefined();
    const [role] = await external.sql(
      `SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls FROM pg_roles WHERE rolname = 'alone'`,
    );
    expect(Object.values(role!)).toEqual([false, false, false, false]);
  });

  test('can be reached by a URL with a Unix socket', async () => {
    const database = await cloneDatabase();
    const { host, user, database: name } = database.server;
    const url = `postgres://${user}@/${name}?host=${encodeURIComponent(host)}`;
    const server = await serve({ ...secrets, DATABASE_URL: url });
    expect(server.stderr).toContain(`PostgreSQL on a socket, database ${name}`);
    expect(await server.end('SIGTERM')).toBe(0);
    await database.drop();
  });

  test('if another role owns the tables, the server can only read and insert append-only rows; the owner cannot change them', async () => {
    await external.createRole('owner_role');
    await external.createRole('server_role');
    await external.sql('CREATE DATABASE two_roles OWNER owner_role');
    await external.sql('REVOKE ALL ON DATABASE two_roles FROM PUBLIC');
    await external.sql('GRANT CONNECT ON DATABASE two_roles TO server_role');
    const environment = {
      ...secrets,
      DATABASE_URL: external.url('server_role', 'two_roles'),
      COUNTERSIGN_MIGRATE_DATABASE_URL: external.url('owner_role', 'two_roles'),
    };
    const [server] = await Promise.all([serve(environment), serve(environment)]);
    const { tenantId, key } = await newKey(environment, 'acme');
    await expectAllKept('two_roles', tenantId, await expectService(server, key));

    const tableRights = await external.sql<{ name: string; rights: string; hasColumnRights: boolean }>(
      `SELECT relname AS name, has_any_column_privilege('server_role', oid, 'UPDATE, REFERENCES') AS "hasColumnRights",
              array_to_string(array(SELECT r FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS r
                                     WHERE has_table_privilege('server_role', oid, r)), ' ') AS rights
         FROM pg_class WHERE relnamespace = 'countersign'::regnamespace AND relkind = 'r' AND relname = ANY ('{${APPEND_ONLY_TABLES}}')`,
      'two_roles',
    );
    expect(tableRights).toHaveLength(APPEND_ONLY_TABLES.length);
    expect(tableRights.filter(({ rights, hasColumnRights }) => rights !== 'SELECT INSERT' || hasColumnRights)).toEqual([]);
    const tablesOfOtherOwners = await external.sql(
      `SELECT relname FROM pg_class WHERE relnamespace = 'countersign'::regnamespace AND relowner <> 'owner_role'::regrole`,
      'two_roles',
    );
    expect(tablesOfOtherOwners).toEqual([]);
    for (const table of APPEND_ONLY_TABLES) {
      for (const change of [
        `UPDATE countersign.${table} SET tenant_id = tenant_id`,
        `DELETE FROM countersign.${table}`,
        `TRUNCATE countersign.${table}`,
      ]) {
        await expect(external.sql(`SET ROLE server_role; ${change}`, 'two_roles')).rejects.toMatchObject({ code: '42501' });
        const ownerChange = external.sql(`SET ROLE owner_role; ${change}`, 'two_roles');
        await expect(ownerChange).rejects.toMatchObject({ message: expect.stringMatching(/append-only|foreign key constraint/) });
      }
    }
  });

  test("`migrate` revokes extra rights of the server's role, unless this role also owns the tables", async () => {
    await external.createRole('rights_owner');
    await external.createRole('rights_server');
    await external.sql('CREATE DATABASE rights OWNER rights_owner');
    await external.sql('REVOKE ALL ON DATABASE rights FROM PUBLIC; GRANT CONNECT ON DATABASE rights TO rights_server');
    const ownerEnvironment = {
      ...secrets,
      DATABASE_URL: external.url('rights_owner', 'rights'),
      COUNTERSIGN_MIGRATE_DATABASE_URL: external.url('rights_owner', 'rights'),
    };
    const mayDelete = async (role: string) => {
      const [row] = await external.sql<{ may: boolean }>(
        `SELECT has_table_privilege('${role}', 'countersign.traces', 'DELETE') AS may`,
        'rights',
      );
      return row!.may;
    };
    await outputOf(['migrate'], ownerEnvironment);
    expect(await mayDelete('rights_owner')).toBe(true);
    await external.sql(
      'SET ROLE rights_owner; GRANT USAGE ON SCHEMA countersign TO rights_server; GRANT DELETE ON countersign.traces TO rights_server',
      'rights',
    );
    expect(await mayDelete('rights_server')).toBe(true);
    await outputOf(['migrate'], { ...ownerEnvironment, DATABASE_URL: external.url('rights_server', 'rights') });
    expect(await mayDelete('rights_server')).toBe(false);
  });

  test('if another role owns the tables, a later start grants the rights that an interrupted start did not grant', async () => {
    await external.createRole('cut_owner');
    await external.createRole('cut_server');
    await external.sql('CREATE DATABASE cut OWNER cut_owner');
    const urls = {
      DATABASE_URL: external.url('cut_server', 'cut'),
      COUNTERSIGN_MIGRATE_DATABASE_URL: external.url('cut_owner', 'cut'),
    };
    const environment = { ...secrets, ...urls };
    expect(await (await serve(environment)).end('SIGTERM')).toBe(0);
    await external.sql(
      'REVOKE ALL ON SCHEMA countersign FROM cut_server; REVOKE ALL ON ALL TABLES IN SCHEMA countersign FROM cut_server',
      'cut',
    );
    const server = await serve(environment);
    await expectService(server, (await newKey(environment, 'acme')).key);
  });

  test.for(['SIGINT', 'SIGKILL'] as const)(
    'when %s stops PostgreSQL under load, the server responds with 503 and Retry-After, recovers by itself and keeps acknowledged records',
    async (signal) => {
      const name = `stopped_${signal.toLowerCase()}`;
      const environment = await createOwnedDatabase(name);
      const server = await serve(environment);
      const { tenantId, key } = await newKey(environment, 'acme');
      const callers = new Callers({ url: server.url, key }, 16);
      await until('the callers are sending', () => callers.acknowledged.length >= 64);
      // A smart shutdown waits for connected clients, so SIGINT then requests a fast shutdown.
      if (signal === 'SIGINT') {
        external.requestShutdown();
        await sleep(200);
      }
      await external.stop(signal);
      const [acknowledgedBefore, unavailableBefore] = [callers.acknowledged.length, callers.unavailableCount];
      await until('the callers get 503', () => callers.unavailableCount >= unavailableBefore + 32);
      expect(callers.acknowledged.length - acknowledgedBefore).toBeLessThanOrEqual(16);
      expect((await fetch(`${server.url}/livez`)).status).toBe(200);
      const ready = await fetch(`${server.url}/readyz`);
      expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '1']);

      await external.start();
      const acknowledgedAtRestart = callers.acknowledged.length;
      await until('the server has recovered', () => callers.acknowledged.length >= acknowledgedAtRestart + 64);
      await callers.stop();
      expect([...callers.unexpectedResponses, ...server.errorLogLines]).toEqual([]);
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
      await expectAllKept(name, tenantId, callers.acknowledged);
      const requestsToResend = callers.unconfirmed.filter(({ kind }) => kind !== 'promotionCheck').slice(0, 40);
      for (const request of requestsToResend) expect((await send({ url: server.url, key }, request)).status).toBe(200);
      await expectAllKept(name, tenantId, callers.acknowledged);
    },
  );

  test('while PostgreSQL hangs, the server responds with 503 and Retry-After within 40 seconds; afterwards the server recovers by itself', {
    timeout: 60_000,
  }, async () => {
    const environment = await createOwnedDatabase('hanging');
    const server = await serve(environment);
    const { tenantId, key } = await newKey(environment, 'acme');
    const callers = new Callers({ url: server.url, key }, 16);
    await until('the callers are sending', () => callers.acknowledged.length >= 64);
    external.signalAll('SIGSTOP');
    try {
      const startedAt = Date.now();
      const response = await fetch(server.url + paths.audit, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ actor: 'ci', action: 'test.hang' }),
      });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      expect(Date.now() - startedAt).toBeLessThan(40_000);
      expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    } finally {
      external.signalAll('SIGCONT');
    }
    const acknowledgedBefore = callers.acknowledged.length;
    await until('the server has recovered', () => callers.acknowledged.length >= acknowledgedBefore + 64);
    await callers.stop();
    expect([...callers.unexpectedResponses, ...server.errorLogLines]).toEqual([]);
    await expectAllKept('hanging', tenantId, callers.acknowledged);
  });
});
