import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { SCOPES, type Scope } from '@countersign/core/contract/scopes';
import pino, { type Logger } from 'pino';
import { type OpenDatabase, openInstance } from '../../src/app/open-database.ts';
import { type RunningServer, type StartOptions, startServer } from '../../src/app/start-server.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import { closePools, openPools, setMasterSecret } from '../../src/database/pools.ts';
import { type HeadStore, setHeadStore } from '../../src/ledger/head-memory.ts';
import { createWorkspace } from '../../src/workspace/create-workspace.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { afterFile } from './after-file.ts';
import { cloneDatabase, type TestDatabase } from './test-database.ts';

/** A response with its body. */
export interface TestResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every structure.
  body: any;
}

/** A real server on a free port, with a database. */
export interface TestServer {
  url: string;
  database: TestDatabase;
  /** The pools and secrets of the server, for commands and acts. */
  open: OpenDatabase;
  /** Creates a workspace and returns its ID. */
  workspace(name?: string): Promise<string>;
  /** Mints a key for a workspace, by default with all scopes. */
  key(tenantId: string, scopes?: readonly Scope[]): Promise<string>;
  /** POSTs a body as JSON; a string or bytes are sent unchanged. */
  post(path: string, key: string | undefined, body: unknown, headers?: Record<string, string>): Promise<TestResponse>;
  /** Compares the tables of every workspace with its evidence log now, unless a comparison is in progress. */
  compareTables(): Promise<void>;
  /** Verifies the logs of every workspace now, with the tables that must match them, or waits for a verification in progress. */
  verifyLogs(): Promise<void>;
  /** Compares the schema of the database now with the schema that the migrations create. */
  compareSchema(): Promise<void>;
  stop(): Promise<void>;
}

/** The secrets of all test servers of this process. Servers on one database must have the same secrets. */
const secrets = { masterSecret: new Uint8Array(randomBytes(32)), signingKey: generateKeyPairSync('ed25519').privateKey };

/**
 * Starts a server for a test file. After the last test, stops the server and drops its database.
 * @param settings overrides of the configuration, a logger, and options of `startServer`. `database` is the database of another server or
 * test; such a database is not dropped. The default is a clone of the template. By default, the server does not compare the schema
 * at its start, because the comparison would take much of the start time.
 */
export async function testServer(
  settings: Partial<Config> & { database?: TestDatabase; log?: Logger; options?: StartOptions } = {},
): Promise<TestServer> {
  const { database: shared, log = pino({ level: 'silent' }), options, ...overrides } = settings;
  const database = shared ?? (await cloneDatabase());
  const config: Config = { ...readConfig({}), port: 0, ...overrides };
  const open = await openTestDatabase(database, config);
  const running: RunningServer = await startServer(config, open, log, {
    metricsRenderMs: 0,
    comparesSchemaFirst: false,
    ...options,
  });
  const url = `http://127.0.0.1:${running.address.port}`;
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await running.close();
    await open.close();
    if (shared === undefined) await database.drop();
  };
  const server: TestServer = {
    url,
    database,
    open,
    workspace: (name = `workspace-${randomBytes(4).toString('hex')}`) => createWorkspace(open.pool, name),
    key: (tenantId, scopes = SCOPES) => mintKey(open.pool, tenantId, { name: 'test', scopes, expiresAt: null }, 'operator'),
    post: (path, key, body, headers) => post(url + path, key, body, headers),
    compareTables: () => running.compareTables(),
    verifyLogs: () => running.verifyLogs(),
    compareSchema: () => running.compareSchema(),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
  afterFile(() => server.stop());
  return server;
}

/** Stores no heads. With stored heads, a server would reject the older states that tests restore. */
const NO_STORED_HEADS: HeadStore = { latest: async () => undefined, hasChanged: () => false, write: async () => undefined };

async function openTestDatabase(database: TestDatabase, config: Config): Promise<OpenDatabase> {
  const pools = openPools(database.server, config.databaseConnections);
  setMasterSecret(pools, secrets.masterSecret);
  setHeadStore(pools.pool, NO_STORED_HEADS);
  return {
    ...pools,
    secrets,
    signer: await openInstance(pools.lookupPool, secrets),
    address: database.server,
    owner: database.owner,
    where: database.server.database,
    migrated: [],
    close: () => closePools(pools),
  };
}

async function post(
  url: string,
  key: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
    body: raw as NonNullable<RequestInit['body']>,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/** Paths of the ingest endpoints and of the promotion check. */
export const paths = {
  traces: '/api/public/traces',
  telemetry: '/api/public/telemetry',
  evaluations: '/api/public/evaluations',
  audit: '/api/public/audit',
  detailedEvaluations: '/api/v1/evaluations',
  promotionCheck: '/api/public/governance/promotion-check',
} as const;
