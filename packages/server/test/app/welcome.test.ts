import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { commandOf } from '../../src/app/own-command.ts';
import { welcome } from '../../src/app/welcome.ts';
import { readConfig } from '../../src/config/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('commandOf returns one command for a checkout, another for an installed package, and another for the container image', () => {
  const node = join(folder, 'node');
  expect(commandOf('file:///checkout/src/app/own-command.ts', node)).toBe('bin/countersign-server');
  expect(commandOf('file:///app/own-command.js', node)).toBe('npx --no countersign-server');
  writeFileSync(join(folder, 'countersign-server'), '');
  expect(commandOf('file:///app/own-command.js', node)).toBe('countersign-server');
});

test('the welcome text mentions docker exec only if the command is on the PATH, and the demo only in a checkout', () => {
  const config = readConfig({ COUNTERSIGN_BEHIND_PROXY: 'true', DATABASE_URL: 'postgres://a@database/a' });
  const textFor = (command: string) =>
    welcome({ port: 7300, where: 'database', config, setUp: undefined, workspace: undefined, command });
  expect(textFor('countersign-server')).toContain('in a container: after `docker exec CONTAINER`');
  expect(textFor('countersign-server')).toContain('\n    countersign-server workspace create --name acme\n');
  expect(textFor('countersign-server')).not.toContain('in this folder');
  expect(textFor('countersign-server')).not.toContain('npm run demo');
  expect(textFor('npx --no countersign-server')).toContain('in this folder (with the same environment)');
  expect(textFor('npx --no countersign-server')).not.toContain('docker exec');
  expect(textFor('npx --no countersign-server')).not.toContain('npm run demo');
  expect(textFor('bin/countersign-server')).not.toContain('docker exec');
  expect(textFor('bin/countersign-server')).toContain('npm run demo');
});
