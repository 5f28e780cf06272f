import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { killAll, processesOf } from '../../../embedded-database/test/harness/processes.ts';
import { newKey } from '../fixtures/run-command.ts';
import { CommandProcess, DataFolder, run, ServerProcess } from '../fixtures/server-process.ts';

test('after servers were killed during their start, alone or with their database, a server starts, and reports an unknown variable', {
  timeout: 240_000,
}, async () => {
  const folder = new DataFolder();
  try {
    for (const [turn, afterMs] of [150, 350, 550, 800, 1100, 1500].entries()) {
      const server = new CommandProcess(['serve'], { COUNTERSIGN_PORT: '0', ...folder.environment });
      await sleep(afterMs);
      const { keepers, postmasters } = processesOf(folder.path);
      const databaseProcesses = turn % 2 === 0 ? [] : [...keepers, ...postmasters];
      killAll(server, ...databaseProcesses);
      expect(await server.ended).toBe('SIGKILL');
    }
    const server = await ServerProcess.start({ ...folder.environment, COUNTERSIGN_PROT: '80' });
    expect(server.output).toMatch(/COUNTERSIGN_PROT.*unknown variable/);
    const { tenantId } = await newKey(folder.environment, 'first');
    expect(await run(['workspace', 'list'], folder.environment)).toContain(tenantId);
    expect(await server.end('SIGTERM')).toBe(0);
  } finally {
    await folder.clear();
  }
});

test('a server and commands that start at once on a new folder use the same database and secrets', {
  timeout: 240_000,
}, async () => {
  const folder = new DataFolder();
  try {
    const names = ['one', 'two', 'three'];
    const [server] = await Promise.all([
      ServerProcess.start(folder.environment),
      ...names.map((name) => run(['workspace', 'create', '--name', name], folder.environment)),
    ]);
    expect(await server.end('SIGTERM')).toBe(0);
    const restarted = await ServerProcess.start(folder.environment);
    for (const name of names) expect(await run(['workspace', 'list'], folder.environment)).toContain(name);
    expect(await restarted.end('SIGTERM')).toBe(0);
  } finally {
    await folder.clear();
  }
});

test('a command and the server report a missing secret file and do not replace it; once the file is back, the command works', async () => {
  const folder = new DataFolder();
  const secrets = join(folder.path, 'secrets');
  try {
    await run(['workspace', 'create', '--name', 'kept'], folder.environment);
    const names = readdirSync(secrets).sort();
    expect(names).toEqual(['master-secret', 'signing-key.pem']);
    for (const name of names) {
      const [path, away] = [join(secrets, name), join(folder.path, `${name}.away`)];
      const before = readFileSync(path, 'utf8');
      renameSync(path, away);
      for (const args of [['workspace', 'list'], ['serve']]) {
        const command = new CommandProcess(args, { COUNTERSIGN_PORT: '0', ...folder.environment });
        expect([await command.ended, command.stderr]).toEqual([
          7,
          expect.stringContaining(`countersign-server: ${path} is missing; restore it from your backup`),
        ]);
      }
      expect(readdirSync(secrets)).not.toContain(name);
      renameSync(away, path);
      expect(await run(['workspace', 'list'], folder.environment)).toContain('kept');
      expect(readFileSync(path, 'utf8')).toBe(before);
    }
  } finally {
    await folder.clear();
  }
});

test('`workspace list`, `signing-key show` and `keys list` report a missing database and create none; `migrate` creates it', async () => {
  const folder = new DataFolder();
  try {
    for (const args of [
      ['workspace', 'list'],
      ['signing-key', 'show'],
      ['keys', 'list', '--workspace', 'acme'],
    ]) {
      const command = new CommandProcess(args, folder.environment);
      expect([await command.ended, command.stderr]).toEqual([
        8,
        expect.stringMatching(/^countersign-server: there is no database in [^\n]*\n$/),
      ]);
      expect(command.stderr).toContain(folder.path);
    }
    expect(existsSync(folder.path)).toBe(false);
    expect(await run(['migrate'], folder.environment)).toContain('000001');
    expect(await run(['workspace', 'list'], folder.environment)).toBe('');
  } finally {
    await folder.clear();
  }
});

test.runIf(existsSync('/proc/self'))('a command exits with one line when the data folder cannot be created', async () => {
  const command = new CommandProcess(['workspace', 'create', '--name', 'acme'], {
    COUNTERSIGN_DATA_DIR: '/proc/countersign/data',
  });
  try {
    expect([await command.ended, command.stderr]).toEqual([
      8,
      expect.stringMatching(
        /^countersign-server: the data folder \/proc\/countersign\/data cannot be used \(E[A-Z]+\): [^\n]*\n$/,
      ),
    ]);
  } finally {
    command.child.kill('SIGKILL');
  }
});
