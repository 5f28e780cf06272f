import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const scripts = fileURLToPath(new URL('../scripts/', import.meta.url));

describe('the set-up of a checkout', () => {
  /** A folder with setup.sh, and a shell script that replaces npm. */
  let checkout: string;

  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), 'countersign-setup-'));
    mkdirSync(join(checkout, 'scripts'));
    mkdirSync(join(checkout, 'bin'));
    cpSync(join(scripts, 'setup.sh'), join(checkout, 'scripts/setup.sh'));
    writeFileSync(join(checkout, 'scripts/build-portal.sh'), '');
    writeFileSync(join(checkout, 'package-lock.json'), '{"version":1}');
  });
  afterEach(() => rmSync(checkout, { recursive: true }));

  /** Runs setup.sh. `npm` is the script that replaces npm, and runs in the checkout. */
  async function setUp(npm: string): Promise<void> {
    writeFileSync(join(checkout, 'bin/npm'), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${join(checkout, 'bin')}:${process.env.PATH}` };
    await promisify(execFile)('sh', [join(checkout, 'scripts/setup.sh')], { env });
  }

  const calls = () =>
    existsSync(join(checkout, 'calls')) ? readFileSync(join(checkout, 'calls'), 'utf8').trim().split('\n') : [];

  /** Installs slowly, and records its start and its end. */
  const INSTALL = 'echo start >> calls; sleep 0.5; mkdir -p node_modules; echo end >> calls';

  test('installs the dependencies once for each lock file', async () => {
    await setUp(INSTALL);
    await setUp(INSTALL);
    expect(calls()).toEqual(['start', 'end']);
    writeFileSync(join(checkout, 'package-lock.json'), '{"version":2}');
    await setUp(INSTALL);
    expect(calls().length).toBe(4);
  });

  test('installs again after an installation that failed', async () => {
    await expect(setUp('echo failed >> calls; exit 1')).rejects.toThrow();
    await setUp(INSTALL);
    expect(calls()).toEqual(['failed', 'start', 'end']);
  });

  // macOS has no flock. There, two set-ups at the same time are not prevented.
  test.runIf(process.platform === 'linux')('waits for another set-up, and then installs nothing', async () => {
    await Promise.all([setUp(INSTALL), setUp(INSTALL), setUp(INSTALL)]);
    expect(calls()).toEqual(['start', 'end']);
  });
});
