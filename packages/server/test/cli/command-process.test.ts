import { spawn, spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { processEnvironment } from '../fixtures/process-environment.ts';
import { type CommandResult, environmentOf, runCommand, runForJson } from '../fixtures/run-command.ts';
import { SERVER_MAIN } from '../fixtures/server-process.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let environment: Record<string, string>;

const run = (...args: string[]): Promise<CommandResult> => runCommand(environment, ...args);

beforeAll(async () => {
  server = await testServer();
  environment = environmentOf(server);
  await run('workspace', 'create', '--name', 'acme');
  // Makes the ledger larger than the buffer of a pipe.
  const { key } = await runForJson(
    environment,
    ...['keys', 'mint', '--name', 'bulk', '--scopes', 'audit', '--workspace', 'acme'],
  );
  const entry = { actor: 'ci', action: 'build.done', metadata: { long: 'x'.repeat(200_000) } };
  await Promise.all(Array.from({ length: 40 }, () => server.post(paths.audit, key, entry)));
});

/** Runs a command in its own process, as a user does. */
const runInOwnProcess = (args: string[], variables: Record<string, string> = {}): CommandResult => {
  const env = processEnvironment({ ...environment, ...variables });
  const { status, stdout, stderr } = spawnSync(process.execPath, [SERVER_MAIN, ...args], { encoding: 'utf8', env });
  return { status: status ?? -1, out: stdout, err: stderr };
};

describe('a command in its own process', () => {
  test('prints only data on stdout, and exits with 0, or with 9 for an unknown workspace', () => {
    const { status, out, err } = runInOwnProcess(['decision-key', 'show', '--workspace', 'acme']);
    expect([status, out]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/)]);
    expect(err).toMatch(/key_id/);
    expect(runInOwnProcess(['keys', 'list', '--workspace', 'nowhere'])).toMatchObject({ status: 9, out: '' });
  });

  test('prints one line and exits with 3, 7 or 8 for an invalid variable, a wrong secret or an unreachable database', () => {
    const list = ['workspace', 'list'];
    const oneLine = /^countersign-server: [^\n]+\n$/;
    const port = runInOwnProcess(list, { COUNTERSIGN_PORT: 'x' });
    expect(port).toEqual({ status: 3, out: '', err: expect.stringMatching(/COUNTERSIGN_PORT/) });
    const secret = runInOwnProcess(list, { COUNTERSIGN_MASTER_SECRET: Buffer.alloc(32).toString('base64') });
    expect(secret).toEqual({ status: 7, out: '', err: expect.stringMatching(/COUNTERSIGN_MASTER_SECRET/) });
    const database = runInOwnProcess(list, { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/x' });
    expect(database).toMatchObject({ status: 8, out: '' });
    for (const { err } of [port, secret, database]) expect(err).toMatch(oneLine);
    const json = runInOwnProcess([...list, '--json'], { COUNTERSIGN_PORT: 'x' });
    expect(JSON.parse(json.err)).toEqual({ error: 'bad_configuration', message: expect.stringMatching(/COUNTERSIGN_PORT/) });
    expect(runInOwnProcess(['--help'], { COUNTERSIGN_PORT: 'x' }).status).toBe(0);
  });

  test('prints one line for an internal error, and a stack trace only at log level debug', async () => {
    await server.database.sql('ALTER TABLE countersign.incidents RENAME COLUMN opened_at TO renamed');
    const list = ['incidents', 'list', '--workspace', 'acme'];
    const quiet = runInOwnProcess(list);
    expect(quiet).toEqual({ status: 70, out: '', err: expect.stringMatching(/^countersign-server: internal error [^\n]+\n$/) });
    expect(runInOwnProcess(list, { COUNTERSIGN_LOG_LEVEL: 'debug' }).err).toMatch(/\n\s+at /);
    expect(JSON.parse(runInOwnProcess([...list, '--json']).err)).toMatchObject({ error: 'fault' });
    await server.database.sql('ALTER TABLE countersign.incidents RENAME COLUMN renamed TO opened_at');
  });

  test('exits with 0 and no error message if the reader of its output disconnects, and with 2 on a full disk', async () => {
    const args = [SERVER_MAIN, 'ledger', 'export', '--workspace', 'acme'];
    const child = spawn(process.execPath, args, { env: processEnvironment(environment) });
    let err = '';
    child.stderr.on('data', (text) => {
      err += text;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect([status, err]).toEqual([0, '']);

    const full = spawnSync('sh', ['-c', `exec "$0" "$@" >/dev/full`, process.execPath, ...args], {
      encoding: 'utf8',
      env: processEnvironment(environment),
    });
    expect([full.status, full.stderr]).toEqual([2, expect.stringMatching(/cannot write to standard output: .*ENOSPC/)]);
  });

  test('verifies an export from standard input', async () => {
    const { out: input } = await run('ledger', 'export', '--workspace', 'acme');
    const { status, stdout } = spawnSync(process.execPath, [SERVER_MAIN, 'ledger', 'verify', '--file', '-'], {
      input,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^valid: \d+ entries, head [0-9a-f]{64}\n$/)]);
  });
});
