import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { runVerifier } from '../../../server/test/harness/independent-verifier.ts';
import { reseal } from '../../../server/test/harness/sealed.ts';
import { databaseWithShiftedClock, type ShiftedDatabase } from '../../../server/test/harness/shifted-clock.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { type CommandResult, runCli } from '../fixtures/run-cli.ts';

const JUMP_MS = 3_600_000;
const LOGS = ['audit', 'decisions', 'evidence', 'keys', 'traces'] as const;
type Log = (typeof LOGS)[number];

let database: ShiftedDatabase;
let server: TestServer;
let folder: string;
const at = (name: string) => join(folder, name);
const operate = (...args: string[]) => runCommand(environmentOf(server), ...args);
const countersign = (args: string[], key = '') =>
  runCli(args, { environment: { COUNTERSIGN_URL: server.url, ...(key === '' ? {} : { COUNTERSIGN_API_KEY: key }) } });
const evaluate = (on: TestServer, key: string) =>
  on.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95, status: 'passing' });

/** Appends one record to a log of a workspace: an audit entry, a decision, an evaluation, a key or a trace. */
async function append(on: TestServer, { tenantId, key }: Workspace, log: Log): Promise<void> {
  if (log === 'keys') await on.key(tenantId);
  else if (log === 'evidence') expect((await evaluate(on, key)).status).toBe(200);
  else if (log === 'traces')
    expect((await on.post(paths.traces, key, { trace_id: randomUUID(), agent_name: 'bot', spans: [] })).status).toBe(200);
  else {
    const body = log === 'audit' ? { actor: 'ci', action: 'test.ran' } : { agent_name: 'bot' };
    const { status } = await on.post(log === 'audit' ? paths.audit : paths.promotionCheck, key, body);
    expect([log, status]).toEqual([log, 200]);
  }
}

interface Workspace {
  tenantId: string;
  key: string;
}
async function createWorkspace(on: TestServer, name: string): Promise<Workspace> {
  const tenantId = await on.workspace(name);
  const key = await on.key(tenantId);
  await evaluate(on, key);
  for (const log of LOGS) await append(on, { tenantId, key }, log);
  return { tenantId, key };
}

/** Runs work with a server that starts while its clock and the database's clock are both ahead, so that it cannot detect the jump. */
async function whileAhead(work: (ahead: TestServer) => Promise<void>): Promise<void> {
  const now = Date.now;
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + JUMP_MS);
  await database.shiftClock(`${JUMP_MS} milliseconds`);
  const ahead = await testServer({ database });
  try {
    await work(ahead);
  } finally {
    await ahead.stop();
    spy.mockRestore();
    await database.shiftClock('0');
  }
}

/** Exports all logs of a workspace to files. */
async function exportLogs(name: string): Promise<void> {
  for (const log of LOGS) {
    const { status, err } = await operate(
      'ledger',
      'export',
      '--workspace',
      name,
      '--log',
      log,
      '--output',
      at(`${name}-${log}`),
    );
    expect([status, err]).toEqual([0, expect.stringContaining('exported')]);
  }
}

/** Verifies a log of a workspace with the server (in the database and in a file), with the client, and with the verifier in Python. */
async function verifyWithAll(name: string, log: Log): Promise<CommandResult[]> {
  const [file, audit] = [at(`${name}-${log}`), log === 'audit' ? [] : ['--audit', at(`${name}-audit`)]];
  const which = log === 'audit' ? 'ledger' : log;
  return [
    await operate('ledger', 'verify', '--workspace', name, '--log', log),
    await operate('ledger', 'verify', '--file', file, '--log', log, ...audit),
    await countersign(['verify', 'ledger', file, '--log', log, ...audit]),
    await runVerifier([which, file, ...audit]),
  ];
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-corrected-clock-'));
  database = await databaseWithShiftedClock();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server.stop();
  await database.drop();
});

describe('after a server was started with a clock that was ahead', () => {
  let workspace: Workspace;
  const gate = () =>
    countersign(
      ['gate', '--agent', 'bot', '--verify-key', at('instance.vkey'), '--workspace', workspace.tenantId, '--timeout', '20s'],
      workspace.key,
    );

  beforeAll(async () => {
    const before = await testServer({ database });
    workspace = await createWorkspace(before, 'acme');
    // In each of these workspaces, the times of one log are ahead and then go back without an entry that allows this.
    const others = await Promise.all(LOGS.map((log) => createWorkspace(before, `only-${log}`)));
    await before.stop();
    await whileAhead(async (ahead) => {
      await evaluate(ahead, workspace.key);
      for (const log of LOGS) await append(ahead, workspace, log);
      for (const [index, log] of LOGS.entries()) await append(ahead, others[index]!, log);
    });
    server = await testServer({ database });
    for (const [index, log] of LOGS.entries()) {
      const { tenantId } = others[index]!;
      await database.sql(
        `UPDATE countersign.log_heads SET last_recorded_at = clock_timestamp() - interval '1 day' WHERE tenant_id = $1 AND log = $2`,
        [tenantId, log],
      );
      await reseal(server.open.pool, tenantId);
      await append(server, others[index]!, log);
    }
    writeFileSync(at('instance.vkey'), (await operate('signing-key', 'show', '--vkey')).out);
  }, 120_000);

  test('the gate names the command that corrects the logs, and allows the agent after this command and a new evaluation', {
    timeout: 120_000,
  }, async () => {
    const rejected = await gate();
    expect(rejected.status).not.toBe(0);
    expect(rejected.out + rejected.err).toContain('countersign-server ledger correct-clock');
    expect((await operate('ledger', 'correct-clock', '--workspace', 'acme')).err).toContain('nothing was written');
    const corrected = await operate('ledger', 'correct-clock', '--workspace', 'acme', '--yes', '--json');
    expect([corrected.status, JSON.parse(corrected.out)]).toEqual([0, expect.objectContaining({ written: true })]);
    expect(Object.keys(JSON.parse(corrected.out).logs).sort()).toEqual([...LOGS]);

    const blocked = await gate();
    expect([blocked.status, blocked.out]).toEqual([1, expect.stringMatching(/time in the future.*record a new evaluation/)]);
    await evaluate(server, workspace.key);
    const allowed = await gate();
    expect([allowed.status, allowed.err, allowed.out]).toEqual([0, '', expect.stringContaining('ALLOWED')]);
    await append(server, workspace, 'keys');
    expect((await operate('ledger', 'correct-clock', '--workspace', 'acme', '--yes')).err).toContain('nothing to correct');
  });

  test('every verifier accepts the corrected logs', { timeout: 120_000 }, async () => {
    await exportLogs('acme');
    for (const log of LOGS)
      for (const { status, out, err } of await verifyWithAll('acme', log))
        expect({ log, status, out, err }).toEqual({
          log,
          status: 0,
          out: expect.stringMatching(/^valid((?!not checked).)*\n$/),
          err: '',
        });
  });

  test.each(['decisions', 'evidence', 'keys', 'traces'] as const)(
    'without the audit ledger, every verifier of files reports that the times of the %s export were not checked',
    { timeout: 120_000 },
    async (log) => {
      const file = at(`acme-${log}`);
      const runs = [
        await operate('ledger', 'verify', '--file', file, '--log', log),
        await countersign(['verify', 'ledger', file, '--log', log]),
        await runVerifier([log, file]),
      ];
      for (const { status, out } of runs)
        expect([status, out]).toEqual([0, expect.stringMatching(/^valid: .*; times were not checked: give --audit\n$/)]);
      const json = await operate('ledger', 'verify', '--file', file, '--log', log, '--json');
      expect(JSON.parse(json.out)).toMatchObject({ result: 'ok', times_checked: false });
    },
  );

  test.each(LOGS)(
    'every verifier rejects a time in the log %s that goes back without an entry that allows it',
    { timeout: 120_000 },
    async (log) => {
      await exportLogs(`only-${log}`);
      for (const { status, out, err } of await verifyWithAll(`only-${log}`, log))
        expect({ status, out, err }).toEqual({
          status: 1,
          out: expect.stringMatching(/^broken.*(is earlier than \S+ of the previous row|goes backwards)/),
          err: '',
        });
    },
  );

  test.each(['decisions', 'evidence', 'keys', 'traces'] as const)(
    'every verifier of files rejects an export of the log %s together with the audit ledger of another workspace',
    { timeout: 120_000 },
    async (log) => {
      // Both the export and the audit ledger are valid by themselves.
      await exportLogs('only-audit');
      await exportLogs('only-keys');
      const [file, audit] = [at(`only-audit-${log}`), ['--audit', at('only-keys-audit')]];
      for (const { status, out, err } of [
        await operate('ledger', 'verify', '--file', file, '--log', log, ...audit),
        await countersign(['verify', 'ledger', file, '--log', log, ...audit]),
        await runVerifier([log, file, ...audit]),
      ])
        expect({ status, out, err }).toEqual({
          status: 1,
          out: expect.stringMatching(/^broken: .*the audit ledger.* belongs to tenant .*, but this log belongs to tenant /),
          err: '',
        });
    },
  );
});
