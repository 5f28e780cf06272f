import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../../attack/loopback.ts';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { readConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { EXIT_CODES, type ExitReason } from '../../src/errors/exit-codes.ts';
import { ExternalPostgres, PASSWORD } from '../fixtures/external-postgres.ts';
import type { Environment } from '../fixtures/process-environment.ts';
import { CommandProcess, DataFolder, ServerProcess } from '../fixtures/server-process.ts';

const thisFile = fileURLToPath(import.meta.url);
const newMasterSecret = () => randomBytes(32).toString('base64');
const newSigningKey = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const SECRETS: Environment = { COUNTERSIGN_MASTER_SECRET: newMasterSecret(), COUNTERSIGN_SIGNING_KEY: newSigningKey() };

/** Starts a server that must fail. Expects the exit code of `reason`, one line on stderr that matches `line`, and no secret. */
async function expectFailedStart(environment: Environment, reason: ExitReason, line: RegExp): Promise<void> {
  const server = new CommandProcess(['serve'], { COUNTERSIGN_PORT: '0', ...environment });
  const ending = await server.ended;
  expect([ending, server.stderr]).toEqual([EXIT_CODES[reason].status, expect.stringMatching(line)]);
  expect(server.stderr.trimEnd().split('\n')).toHaveLength(1);
  expectNoSecrets(server.output, environment);
}

function expectNoSecrets(output: string, environment: Environment): void {
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), 'wr0ng-word', environment.COUNTERSIGN_MASTER_SECRET]) {
    if (secret) expect(output).not.toContain(secret);
  }
  expect(output).not.toContain('PRIVATE KEY');
}

describe('countersign-server with an external database', () => {
  let external: ExternalPostgres;
  let environment: Environment;

  beforeAll(async () => {
    external = await ExternalPostgres.create();
    await external.createRole('app');
    await external.sql('CREATE DATABASE app OWNER app');
    environment = { ...SECRETS, DATABASE_URL: external.url('app', 'app') };
    const server = await ServerProcess.start(environment);
    expect(await server.end('SIGTERM')).toBe(0);
  });

  afterAll(() => external?.remove());

  test('exits with the exit code of schema_newer when a newer Countersign migrated the database', async () => {
    await external.sql(`INSERT INTO countersign.migrations (name, run_on) VALUES ('999999_from-the-future', now())`, 'app');
    await expectFailedStart(environment, 'schema_newer', /migrated by a newer Countersign/);
    await external.sql(`DELETE FROM countersign.migrations WHERE name = '999999_from-the-future'`, 'app');
  });

  test('refuses a database from before 0.1.0, says what to do, and says that it changed nothing', async () => {
    // Versions before 0.1.0 had other migrations.
    await external.sql(`UPDATE countersign.migrations SET name = name || '-before'`, 'app');
    const sentence = /from a Countersign before 0\.1\.0.*nothing was changed.*ledger export.*empty database/;
    await expectFailedStart(environment, 'refused', sentence);
    const migrate = await runHere(['migrate'], environment);
    expect([migrate.status, migrate.stderr]).toEqual([EXIT_CODES.refused.status, expect.stringMatching(sentence)]);
    await external.sql(`UPDATE countersign.migrations SET name = replace(name, '-before', '')`, 'app');
  });

  test('exits with the exit code of schema_older when a migration has not run, and names the migrate command', async () => {
    const [last] = await external.sql<{ name: string; run_on: Date }>(
      'DELETE FROM countersign.migrations WHERE id = (SELECT max(id) FROM countersign.migrations) RETURNING name, run_on',
      'app',
    );
    await expectFailedStart(environment, 'schema_older', /countersign-server migrate/);
    await external.sql(`INSERT INTO countersign.migrations (name, run_on) VALUES ('${last!.name}', now())`, 'app');
  });

  test.for([
    ['another master secret', { COUNTERSIGN_MASTER_SECRET: newMasterSecret() }, /COUNTERSIGN_MASTER_SECRET/],
    ['another signing key', { COUNTERSIGN_SIGNING_KEY: newSigningKey() }, /COUNTERSIGN_SIGNING_KEY/],
    [
      'no master secret',
      { COUNTERSIGN_MASTER_SECRET: '' },
      /COUNTERSIGN_MASTER_SECRET.*for an existing database, set the secret of this database/,
    ],
    [
      'no signing key',
      { COUNTERSIGN_SIGNING_KEY: '' },
      /COUNTERSIGN_SIGNING_KEY.*for an existing database, set the secret of this database/,
    ],
  ] as const)('exits with the exit code of wrong_secret and names the variable when started with %s', async ([, wrong, line]) => {
    await expectFailedStart({ ...environment, ...wrong }, 'wrong_secret', line);
  });

  test('accepts only the original signing key after a first start that stopped before storing its key in signing_keys', async () => {
    await external.sql('DELETE FROM countersign.signing_keys', 'app');
    await expectFailedStart(
      { ...environment, COUNTERSIGN_SIGNING_KEY: newSigningKey() },
      'wrong_secret',
      /COUNTERSIGN_SIGNING_KEY \(or signing-key\.pem\) is not a key of this database.*set the key with which the instance was created/,
    );
    const server = await ServerProcess.start(environment);
    expect(await server.end('SIGTERM')).toBe(0);
    expect(await external.sql('SELECT kid FROM countersign.signing_keys', 'app')).toHaveLength(1);
  });

  test.for([
    ['a wrong password', () => external.url('app', 'app', 'wr0ng-word'), /password/],
    ['an unknown database', () => external.url('app', 'nowhere'), /nowhere/],
    ['an unknown role', () => external.url('nobody_here', 'app'), /nobody_here/],
    [
      'a port without a listener',
      async () => external.url('app', 'app').replace(/:\d+\/app$/, `:${await freePort('127.0.0.1')}/app`),
      /ECONNREFUSED/,
    ],
    ['an unknown host', () => `postgres://app:${encodeURIComponent(PASSWORD)}@nowhere.invalid/app`, /nowhere\.invalid/],
  ] as const)('exits with one line that contains no password when DATABASE_URL has %s', async ([, url, line]) => {
    await expectFailedStart({ ...SECRETS, DATABASE_URL: await url() }, 'database_away', line);
  });

  test('names the certificate file of DATABASE_URL if it cannot be read, and shows no password', async () => {
    const url = `${external.url('app', 'app')}?sslmode=verify-full&sslrootcert=/nowhere/ca.crt`;
    await expectFailedStart(
      { ...SECRETS, DATABASE_URL: url },
      'bad_configuration',
      /DATABASE_URL names a file that cannot be read: .*nowhere.ca\.crt/,
    );
  });

  test('exits with an error when a step of the start fails after the server began to listen', async () => {
    await external.sql('REVOKE SELECT ON countersign.tenants FROM app', 'app');
    const port = await freePort('127.0.0.1');
    const server = new CommandProcess(['serve'], { ...environment, COUNTERSIGN_PORT: String(port) });
    expect([await server.ended, server.stderr]).toEqual([expect.any(Number), expect.stringMatching(/tenants/)]);
    expect(await server.ended).not.toBe(0);
    expect(server.stdout).toContain('Server listening');
    await external.sql('GRANT SELECT ON countersign.tenants TO app', 'app');
  });

  test('starts with a warning if its role is a superuser; the welcome text names the workspace, or says how to create one', async () => {
    await external.createRole('superuser_role');
    await external.sql('ALTER ROLE superuser_role SUPERUSER');
    await external.sql('CREATE DATABASE of_superuser OWNER superuser_role');
    const asSuperuser = { ...SECRETS, DATABASE_URL: external.url('superuser_role', 'of_superuser') };
    const server = await ServerProcess.start(asSuperuser);
    expect(server.stdout).toMatch(/"level":40.*is a superuser or has BYPASSRLS/);
    expect(server.stderr).toContain('workspace create --name acme');
    await runHere(['workspace', 'create', '--name', "it's ours"], asSuperuser);
    expect(await server.end('SIGTERM')).toBe(0);
    const second = await ServerProcess.start({ ...environment });
    expect(second.stdout).not.toContain('superuser');
    expect(await second.end('SIGTERM')).toBe(0);
    const third = await ServerProcess.start(asSuperuser);
    expect(third.stderr).not.toContain('workspace create');
    expect(third.stderr).toContain(`keys mint --workspace 'it'\\''s ours' --name ci`);
    expect(await third.end('SIGTERM')).toBe(0);
  });

  test('reports an empty database on `workspace list` without creating tables; `workspace create` creates them and says so', async () => {
    await external.sql('CREATE DATABASE empty OWNER app');
    const emptyEnvironment = { ...SECRETS, DATABASE_URL: external.url('app', 'empty') };
    const list = await runHere(['workspace', 'list'], emptyEnvironment);
    expect([list.status, list.stderr]).toEqual([
      8,
      expect.stringMatching(/no tables of Countersign in .*database empty.*`migrate`/),
    ]);
    expect(await external.sql(`SELECT FROM pg_namespace WHERE nspname = 'countersign'`, 'empty')).toEqual([]);
    const create = await runHere(['workspace', 'create', '--name', 'acme'], emptyEnvironment);
    expect([create.status, create.stderr]).toEqual([0, expect.stringMatching(/^created the tables in .*database empty\n/)]);
  });

  test('exits and names the right to grant when the role may not create tables in a new database', async () => {
    await external.createRole('limited');
    await external.sql('CREATE DATABASE limited');
    await expectFailedStart(
      { ...SECRETS, DATABASE_URL: external.url('limited', 'limited') },
      'database_away',
      /CREATE on the database/,
    );
  });
});

describe('serve with the embedded database', () => {
  let folder: DataFolder;
  let occupant: Server;
  let port: string;

  beforeAll(async () => {
    folder = new DataFolder();
    occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve));
    port = String((occupant.address() as { port: number }).port);
  });

  afterAll(async () => {
    occupant.close();
    await folder.clear();
  });

  test('exits before it creates a database if its port is in use, and names the port', async () => {
    await expectFailedStart(
      { ...folder.environment, COUNTERSIGN_PORT: port },
      'port_in_use',
      new RegExp(`port ${port} on 127\\.0\\.0\\.1`),
    );
    expect(existsSync(folder.environment.COUNTERSIGN_DATA_DIR!)).toBe(false);
  });

  test('exits when the data was created with another master secret, and leaves no database running', async () => {
    const server = await ServerProcess.start(folder.environment);
    expect(await server.end('SIGTERM')).toBe(0);
    const environment = { ...folder.environment, COUNTERSIGN_MASTER_SECRET: newMasterSecret() };
    await expectFailedStart(environment, 'wrong_secret', /COUNTERSIGN_MASTER_SECRET/);
    expect(folder.hasDatabase()).toBe(false);
  });
});

describe('serve with a bad configuration', () => {
  const externalUrl = { DATABASE_URL: `postgres://app:${encodeURIComponent(PASSWORD)}@127.0.0.1/app` };
  const badValues: [variable: string, value: string, otherVariables?: Environment][] = [
    ['COUNTERSIGN_PORT', '65536'],
    ['COUNTERSIGN_PORT', 'http'],
    ['COUNTERSIGN_PORT', '-1'],
    ['COUNTERSIGN_PORT', '7300.5'],
    ['COUNTERSIGN_HOST', '0.0.0.0'],
    ['COUNTERSIGN_HOST', '::'],
    ['COUNTERSIGN_HOST', '127.0.0.1.example.com'],
    ['COUNTERSIGN_HOST', 'fe80::1', { COUNTERSIGN_BEHIND_PROXY: 'true' }],
    ['DATABASE_URL', `mysql://app:${PASSWORD}@127.0.0.1/app`],
    ['DATABASE_URL', 'postgres://'],
    ['DATABASE_URL', `postgres://app:${PASSWORD}@127.0.0.1:notaport/app`, SECRETS],
    ['DATABASE_URL', 'postgres://app:wr0ng-word@127.0.0.1:70000/app', SECRETS],
    ['COUNTERSIGN_MIGRATE_DATABASE_URL', `app:${PASSWORD}`, externalUrl],
    ['COUNTERSIGN_MIGRATE_DATABASE_URL', 'postgres://owner:wr0ng-word@127.0.0.1/app'],
    ['COUNTERSIGN_DATABASE_CONNECTIONS', '1'],
    ['COUNTERSIGN_DATABASE_CONNECTIONS', '201', externalUrl],
    ['COUNTERSIGN_DATABASE_CONNECTIONS', '33'],
    ['COUNTERSIGN_REPORT_BYTES_MAX', '20MB'],
    ['COUNTERSIGN_RECORD_BYTES_MAX', '0'],
    ['COUNTERSIGN_QUEUE_BYTES_MAX', '1e9'],
    ['COUNTERSIGN_FREE_SPACE_MIN_BYTES', '-1'],
    ['COUNTERSIGN_READING_BYTES_MAX', '0x100'],
    ['COUNTERSIGN_READING_BYTES_MAX', '30000000'],
    ['COUNTERSIGN_ANSWERING_BYTES_MAX', '0'],
    ['COUNTERSIGN_CONNECTIONS_MAX', '0'],
    ['COUNTERSIGN_CONNECTIONS_PER_ADDRESS_MAX', 'many'],
    ['COUNTERSIGN_SEND_TIMEOUT_SECONDS', '0'],
    ['COUNTERSIGN_METRICS_PORT', '65536'],
    ['COUNTERSIGN_METRICS_PORT', '7300', { COUNTERSIGN_PORT: '7300' }],
    ['COUNTERSIGN_METRICS_TOKEN', 'short'],
    ['COUNTERSIGN_METRICS_TOKEN_FILE', '/nowhere/token'],
    ['COUNTERSIGN_BACKUP_PASSPHRASE', 'short'],
    ['COUNTERSIGN_BACKUP_PASSPHRASE_FILE', '/nowhere/passphrase'],
    ['COUNTERSIGN_RATE_LIMIT_PER_MINUTE', '0'],
    ['COUNTERSIGN_LOG_LEVEL', 'loud'],
    ['COUNTERSIGN_BEHIND_PROXY', 'yes'],
    ['COUNTERSIGN_DIRECT_WRITES', 'on'],
    ['COUNTERSIGN_PUBLIC_URL', 'countersign.example.com'],
    ['COUNTERSIGN_PUBLIC_URL', 'https://example.com/portal'],
    ['COUNTERSIGN_PUBLIC_URL', 'ftp://example.com'],
    ['COUNTERSIGN_PUBLIC_URL', 'http://example.com', { COUNTERSIGN_BEHIND_PROXY: 'true' }],
    ['COUNTERSIGN_ALLOWED_HOSTS', 'https://example.com'],
    ['COUNTERSIGN_ALLOWED_HOSTS', 'example.com:443'],
    ['COUNTERSIGN_ALLOWED_HOSTS', ','],
    ['COUNTERSIGN_TLS_CERT_FILE', '/nowhere/cert.pem'],
    ['COUNTERSIGN_TLS_KEY_FILE', '/nowhere/key.pem'],
    ['COUNTERSIGN_TLS_CERT_FILE', '', { COUNTERSIGN_TLS_KEY_FILE: thisFile }],
    ['COUNTERSIGN_TLS_KEY_FILE', '', { COUNTERSIGN_TLS_CERT_FILE: thisFile }],
    ['COUNTERSIGN_TLS_CERT_FILE', thisFile, { COUNTERSIGN_TLS_KEY_FILE: thisFile }],
    ['COUNTERSIGN_MASTER_SECRET_FILE', '/nowhere/secret'],
    ['COUNTERSIGN_SIGNING_KEY_FILE', '/nowhere/key'],
    ['COUNTERSIGN_MASTER_SECRET', 'short'],
    ['COUNTERSIGN_MASTER_SECRET', Buffer.alloc(33).toString('base64')],
    ['COUNTERSIGN_SIGNING_KEY', 'not a key'],
    ['COUNTERSIGN_SIGNING_KEY_PREVIOUS', 'not a key'],
    ['COUNTERSIGN_CHECKPOINT_SECONDS', '-1'],
    ['COUNTERSIGN_CHECKPOINT_DIR', '/nowhere/kept'],
    ['COUNTERSIGN_CHECKPOINT_DIR', thisFile],
    ['COUNTERSIGN_MEMORY_DIR', join(thisFile, 'memory')],
    ['COUNTERSIGN_SIGNING_KEY', generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
  ];

  test('is tested for every variable except COUNTERSIGN_DATA_DIR, which accepts any text', () => {
    const tried = new Set(badValues.map(([variable]) => variable.replace(/_FILE$/, '')));
    const untried = Object.values(VARIABLES).filter(({ name }) => !tried.has(name.replace(/_FILE$/, '')));
    expect(untried.map(({ name }) => name)).toEqual(['COUNTERSIGN_DATA_DIR']);
  });

  test.for(badValues.map((each, index) => [index + 1, ...each] as const))(
    '%i: exits with code 3 for a bad %s, names the variable in one line without secrets and creates no data folder',
    async ([, variable, value, otherVariables = {}]) => {
      const folder = new DataFolder();
      try {
        const environment = { COUNTERSIGN_PORT: '0', ...folder.environment, ...otherVariables, [variable]: value };
        const { status, stdout, stderr } = await runHere(['serve'], environment);
        expect([status, stderr]).toEqual([
          EXIT_CODES.bad_configuration.status,
          expect.stringContaining(variable.replace(/_FILE$/, '')),
        ]);
        expect(stderr.trimEnd().split('\n')).toHaveLength(1);
        expectNoSecrets(stdout + stderr, environment);
        expect(existsSync(folder.path)).toBe(false);
      } finally {
        await folder.clear();
      }
    },
  );
});

test('readConfig reports each COUNTERSIGN_ variable that neither the server nor the client reads, and no other variable', () => {
  const knownVariables = Object.fromEntries(
    Object.values(VARIABLES)
      .map(({ name }) => name)
      .concat(namesInClient(), 'COUNTERSIGN_MASTER_SECRET_FILE', 'PATH')
      .map((name) => [name, '']),
  );
  expect(readConfig(knownVariables).unknownVariables).toEqual([]);
  expect(readConfig({ ...knownVariables, COUNTERSIGN_PROT: '80', COUNTERSIGN_HOST_FILE: 'x' }).unknownVariables).toEqual([
    'COUNTERSIGN_PROT',
    'COUNTERSIGN_HOST_FILE',
  ]);
});

/** The names of the COUNTERSIGN_ variables in the sources of the client. */
function namesInClient(): string[] {
  const sources = fileURLToPath(new URL('../../../client/src/', import.meta.url));
  const texts = globSync('**/*.ts', { cwd: sources }).map((file) => readFileSync(join(sources, file), 'utf8'));
  const names = new Set(texts.flatMap((text) => text.match(/COUNTERSIGN_[A-Z_]*[A-Z]/g) ?? []));
  expect(names.size).toBeGreaterThan(5);
  return [...names];
}

/** Runs a command line in this process. `serve` must fail early here, because nothing can stop its server. */
async function runHere(args: string[], environment: Environment): Promise<{ status: number; stdout: string; stderr: string }> {
  const texts = { out: '', err: '' };
  const textWriter = (name: 'out' | 'err') =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        texts[name] += chunk.toString();
        done();
      },
    });
  const status = await runCommandLine(args, { out: textWriter('out'), err: textWriter('err'), environment });
  return { status, stdout: texts.out, stderr: texts.err };
}
