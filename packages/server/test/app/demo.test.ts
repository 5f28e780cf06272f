import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../../../../attack/loopback.ts';
import { copyPreparedCluster } from '../../../embedded-database/test/harness/prepared-cluster.ts';
import { processEnvironment } from '../fixtures/process-environment.ts';
import { SERVER_MAIN } from '../fixtures/server-process.ts';
import { testServer } from '../harness/test-server.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-demo-'));
  chmodSync(dataDir, 0o755); // when run by root, PostgreSQL runs as another user that needs access
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** A run of the demo in its own process. */
interface DemoRun {
  process: ChildProcess;
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

function startDemo(environment: Record<string, string>, ...args: string[]): DemoRun {
  const child = spawn(process.execPath, ['examples/demo/demo.ts', ...args], {
    cwd: repository,
    env: processEnvironment({ COUNTERSIGN_DATA_DIR: dataDir, ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return { process: child, ended: once(child, 'close').then(([code]) => ({ code, ...output })) };
}

const isPortFree = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/livez`).then(
    () => false,
    () => true,
  );

const CHAPTERS = [
  'A workspace, and keys with one scope each',
  'Evidence: what the agent does',
  'The gate: may this agent go to production?',
  'Why you can trust a decision: it is signed',
  'A high-risk agent needs the approval of a person',
  'After an incident: re-certification',
  'Who did what: the audit ledger',
  'Verification: the ledger was not rewritten',
];

/** The decisions of the gate in a run of the demo, in order. */
const DECISIONS = [
  'BLOCKED no_recent_evaluation',
  'BLOCKED evaluation_not_passing',
  'BLOCKED pass_rate_below_threshold',
  'ALLOWED all_conditions_met',
  'BLOCKED approval_required',
  'ALLOWED all_conditions_met',
  'BLOCKED recertification_open',
  'BLOCKED approval_required',
  'ALLOWED all_conditions_met',
];

/** Expects all chapters and all decisions in order, no ingestion key, and no escape codes, because stdout is not a terminal. */
function expectWholeDemo(stdout: string): void {
  expect([...stdout.matchAll(/^\d+\. (.+)$/gm)].map(([, title]) => title)).toEqual(CHAPTERS);
  expect([...stdout.matchAll(/ 200 ((?:ALLOWED|BLOCKED) \w+)/g)].map(([, decision]) => decision)).toEqual(DECISIONS);
  expect(stdout).not.toMatch(/aa_live_[0-9a-f]{12}\.[A-Za-z0-9_-]{43}/);
  expect(stdout).not.toContain('\u001b');
}

describe('npm run demo', () => {
  test('--help prints the usage and exits with 0', async () => {
    expect(await startDemo({}, '--help').ended).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Usage: npm run demo/),
      stderr: '',
    });
  });

  test('runs all chapters on a new server and shuts it down; with --keep, the server runs until Ctrl-C, and the sign-in link works once', {
    timeout: 480_000,
  }, async () => {
    const port = await freePort('127.0.0.1');
    const { code, stdout, stderr } = await startDemo({ COUNTERSIGN_PORT: String(port) }).ended;
    expect(code, stdout + stderr).toBe(0);
    expectWholeDemo(stdout);
    expect(stdout).toContain('ok: the server shuts down cleanly');
    expect(stdout).toMatch(/`npm start`, then open[\s\S]*\n {3}http:\/\/127\.0\.0\.1:\d+\/link#[\w-]{43}\n\n$/);
    expect(await isPortFree(port)).toBe(true);

    // The first run of the demo started the server from its sources, as a user does. This run starts the bundle for tests, which is faster.
    const demo = startDemo({ COUNTERSIGN_PORT: String(port), SERVER_FOR_TESTS: SERVER_MAIN }, '--keep');
    const link = await new Promise<URL>((resolve, reject) => {
      let printed = '';
      demo.process.stdout!.on('data', (text: string) => {
        printed += text;
        const url = /^ *(http:\S+\/link#[\w-]{43})$/m.exec(printed)?.[1];
        if (url !== undefined && printed.includes('keeps running until')) resolve(new URL(url));
      });
      void demo.ended.then(({ stdout, stderr }) => reject(new Error(stdout + stderr)));
    });
    const open = () =>
      fetch(`${link.origin}/api/portal/links/sign-in`, {
        method: 'POST',
        headers: { origin: link.origin, 'content-type': 'application/json' },
        body: JSON.stringify({ token: link.hash.slice(1) }),
      });
    const response = await open();
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      memberships: [{ workspace: { name: expect.stringMatching(/^demo-/) }, role: 'admin' }],
    });
    expect((await open()).status).toBe(410);
    demo.process.kill('SIGINT');
    const keptResult = await demo.ended;
    expect(keptResult.code, keptResult.stderr).toBe(0);
    expectWholeDemo(keptResult.stdout);
    expect(await isPortFree(port)).toBe(true);
  });

  test('stops its server when SIGTERM ends the demo during the start', { timeout: 240_000 }, async () => {
    const port = await freePort('127.0.0.1');
    const demo = startDemo({ COUNTERSIGN_PORT: String(port) });
    await once(demo.process.stderr!, 'data');
    demo.process.kill('SIGTERM');
    expect((await demo.ended).code).toBe(143);
    expect(await isPortFree(port)).toBe(true);
  });

  test('exits with 2 when the server and the commands use different databases', { timeout: 240_000 }, async () => {
    const { url } = await testServer();
    copyPreparedCluster(dataDir);
    // Keeps the database running. Otherwise each command would start and stop it.
    const database = await acquireEmbeddedDatabase({ dataDir, notify: () => undefined });
    try {
      const { code, stderr } = await startDemo({ COUNTERSIGN_URL: url, SERVER_FOR_TESTS: SERVER_MAIN }).ended;
      expect(code, stderr).toBe(2);
      expect(stderr).toContain('different databases');
    } finally {
      await database.release();
    }
  });

  describe('when another program listens on the port', () => {
    let other: Server;
    beforeEach(async () => {
      other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
      await once(other, 'listening');
    });
    afterEach(() => void other.close());

    test('exits with 2 and says that the port belongs to another program', async () => {
      const { port } = other.address() as AddressInfo;
      const { code, stderr } = await startDemo({ COUNTERSIGN_PORT: String(port) }).ended;
      expect(code, stderr).toBe(2);
      expect(stderr).toContain('a program other than Countersign');
    });
  });
});
