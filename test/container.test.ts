import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../packages/server/src/config/config.ts';
import { VARIABLES } from '../packages/server/src/config/variables.ts';
import { checkSecrets } from '../packages/server/src/secrets/load-secrets.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const variables = new Set<string>(Object.values(VARIABLES).flatMap(({ name }) => [name, `${name}_FILE`]));

test('the image runs as an unprivileged user, and a build can choose the base images', () => {
  const lines = textOf('Containerfile').split('\n');
  const bases = lines.flatMap((line) => /^FROM (.*)$/.exec(line)?.[1] ?? []);
  expect(bases).toEqual([expect.stringMatching(/^\$\{BUILD_IMAGE\} AS build$/), expect.stringMatching(/^\$\{BASE_IMAGE\}$/)]);
  expect(lines.findLast((line) => line.startsWith('USER '))).toBe('USER 10001:10001');
});

test.each(['Containerfile', 'compose.yaml', 'docs/container.md'])('%s names only COUNTERSIGN_ variables that exist', (path) => {
  const named = [...textOf(path).matchAll(/\bCOUNTERSIGN_[A-Z_]+/g)].map(([name]) => name);
  expect(named.filter((name) => !variables.has(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(0);
});

test('compose.yaml runs the server with a read-only root, no capabilities and a loopback port, after its database is healthy', () => {
  const { server, database } = parse(textOf('compose.yaml')).services;
  expect(server).toMatchObject({ read_only: true, cap_drop: ['ALL'], ports: ['127.0.0.1:7300:7300'] });
  expect(server.depends_on.database.condition).toBe('service_healthy');
  // The role and the database of the server must exist. pg_isready checks neither.
  expect(database.healthcheck.test).toEqual(expect.arrayContaining(['psql', '--username=countersign', '--dbname=countersign']));
});

test('make-secrets.sh creates secrets once, readable only by their owner, and the server accepts them', () => {
  const folder = join(scratch, 'checkout');
  mkdirSync(join(folder, 'scripts'), { recursive: true });
  cpSync(join(root, 'scripts/image'), join(folder, 'scripts/image'), { recursive: true });
  const make = () => execFileSync('sh', [join(folder, 'scripts/image/make-secrets.sh')], { stdio: 'ignore' });
  make();
  const file = join(folder, '.env');
  const text = readFileSync(file, 'utf8');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  make();
  expect(readFileSync(file, 'utf8')).toBe(text);
  const secrets = Object.fromEntries(
    [...text.matchAll(/^([A-Z_]+)=(?:"([^"]*)"|(.*))$/gm)].map(([, name, quoted, plain]) => [name!, quoted ?? plain]),
  );
  const template: Record<string, string> = parse(textOf('compose.yaml')).services.server.environment;
  const environment = Object.fromEntries(
    Object.entries(template).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, variable, fallback) => secrets[variable] ?? fallback),
    ]),
  );
  const config = readConfig(environment);
  checkSecrets(config);
  expect(config.unknownVariables).toEqual([]);
  expect(new URL(config.databaseUrl!).password).toBe(secrets.DATABASE_PASSWORD);
  // The server prints its address with 127.0.0.1, and links to the portal have the same host.
  expect(config.publicUrl).toBe('http://127.0.0.1:7300');
});

/**
 * Runs the health check while `/readyz` responds with this status, or while no server listens (status undefined). Returns the exit code.
 * @param environment variables besides the port.
 * @param address the address that the server listens on.
 */
async function runHealthcheck(
  status: number | undefined,
  environment: Record<string, string> = {},
  address = '127.0.0.1',
): Promise<number> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status! : 404).end();
  });
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  if (status === undefined) server.close();
  const file = join(scratch, 'healthcheck.mjs');
  writeFileSync(file, textOf('scripts/image/healthcheck').replace(/^#!.*/, ''));
  const child = spawn(process.execPath, [file], { env: { COUNTERSIGN_PORT: String(port), ...environment }, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  server.close();
  return code;
}

test('the health check succeeds only while the server is ready', async () => {
  expect(await runHealthcheck(200)).toBe(0);
  expect(await runHealthcheck(503)).toBe(1);
  expect(await runHealthcheck(undefined)).toBe(1);
});

test('the health check reads the variables as the server does: a blank variable counts as not set', async () => {
  const blank = { COUNTERSIGN_TLS_CERT_FILE: '', COUNTERSIGN_TLS_KEY_FILE: ' ', COUNTERSIGN_HOST: '' };
  expect(await runHealthcheck(200, blank)).toBe(0);
  expect(textOf('scripts/image/healthcheck')).toContain(`'${VARIABLES.port.default}'`);
  expect(await runHealthcheck(200, { COUNTERSIGN_HOST: '127.0.0.2' }, '127.0.0.2')).toBe(0);
  expect(await runHealthcheck(200, { COUNTERSIGN_HOST: '::' }, '::')).toBe(0);
});

test('the command of the image passes its arguments on and replaces itself with the server', () => {
  const text = textOf('scripts/image/countersign-server');
  expect(text).toMatch(/^exec .*"\$@"$/m);
  const home = join(scratch, 'image');
  mkdirSync(join(home, 'node_modules/@countersign'), { recursive: true });
  mkdirSync(join(home, 'bin'));
  symlinkSync(process.execPath, join(home, 'bin/node'));
  symlinkSync(join(root, 'packages/server'), join(home, 'node_modules/@countersign/server'));
  const command = join(home, 'bin/countersign-server');
  writeFileSync(command, text.replaceAll('/opt/countersign', home));
  chmodSync(command, 0o755);
  expect(execFileSync(command, ['--version'], { encoding: 'utf8' }).trim()).toBe(VERSION);
});

const { version: VERSION } = JSON.parse(textOf('packages/server/package.json')) as { version: string };
