import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killAll, LIST_EVERY_MS, until } from '../../../embedded-database/test/harness/processes.ts';
import { type AcknowledgedRequest, Callers, send } from '../fixtures/callers.ts';
import { MixedActs } from '../fixtures/mixed-acts.ts';
import { expectStored } from '../fixtures/records.ts';
import { newKey, outputOf, runCommand } from '../fixtures/run-command.ts';
import { DataFolder, ServerProcess } from '../fixtures/server-process.ts';
import { sealedPool } from '../harness/sealed.ts';

/** The total duration of the loads before the backup and after the restore. docs/reliability.md reports a run with `MINUTES=60`. */
const LOAD_MS = process.env.MINUTES === undefined ? 4_000 : Number(process.env.MINUTES) * 60_000;
/** The longest pause before a kill. */
const KILL_AFTER_MS = 3_000;
const CALLERS_PER_SERVER = 4;
/** The pause of a caller after each request. */
const PAUSE_MS = 30;

const data = DataFolder.migrated();
const folder = mkdtempSync(join(tmpdir(), 'countersign-mixed-'));
/** The two servers. */
const servers: (ServerProcess | undefined)[] = [undefined, undefined];
/** The addresses of the servers, and the key. Callers read a target before each request. */
const targets = [
  { url: '', key: '' },
  { url: '', key: '' },
];
const unexpectedErrors: string[] = [];
/** Totals of the run for docs/reliability.md. */
const totals = { requests: 0, kills: 0, verified: 0, acts: 0, keys: 0, comparisons: 0 };
let tenantId: string;

beforeAll(async () => {
  await start(0);
  const createdKey = await newKey(data.environment, 'mixed');
  tenantId = createdKey.tenantId;
  for (const target of targets) target.key = createdKey.key;
  await start(1);
});
afterAll(async () => {
  await stopServers();
  await data.clear();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command in this process. Returns its status and its output. */
async function command(...args: string[]): Promise<[status: number, output: string]> {
  const { status, out } = await runCommand(data.environment, ...args);
  return [status, out];
}

/** Runs a command that must succeed. Returns its output without whitespace at the end. */
const run = (...args: string[]): Promise<string> => outputOf(args, data.environment);

async function start(serverIndex: number): Promise<void> {
  servers[serverIndex] = await ServerProcess.start(data.environment);
  targets[serverIndex]!.url = servers[serverIndex]!.url;
}

async function stopServers(): Promise<void> {
  for (const [serverIndex, server] of servers.entries()) {
    await server?.end('SIGTERM');
    unexpectedErrors.push(...(server?.errorLogLines ?? []));
    servers[serverIndex] = undefined;
  }
}

/** Expects that all logs are valid and that each running server is ready without warnings. The load may continue meanwhile. */
async function expectNoFinding(): Promise<void> {
  const verified = await command('ledger', 'verify', '--workspace', 'mixed', '--log', 'all');
  expect(verified).toEqual([0, expect.not.stringContaining('warning')]);
  for (const server of servers) {
    if (server === undefined) continue;
    expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ready' });
  }
  totals.verified += 1;
}

/**
 * Runs a mixed load on both servers for at least `durationMs` and kills the servers in turn, at least `killsMin` times. Returns the
 * acknowledged and the resent requests.
 */
async function load(durationMs: number, killsMin: number): Promise<AcknowledgedRequest[]> {
  const callers = targets.map((target) => new Callers(target, CALLERS_PER_SERVER, PAUSE_MS));
  const acknowledged = () => callers.flatMap((each) => each.acknowledged);
  const acts = new MixedActs({
    environment: data.environment,
    tenantId,
    urls: () => servers.flatMap((server) => server?.url ?? []),
    evaluationId: () => callers[0]!.acknowledged.findLast(({ kind }) => kind === 'evaluations')?.responseBody.id,
  });
  await acts.start();
  const end = Date.now() + durationMs;
  for (let turn = 0; turn < killsMin || Date.now() < end; turn += 1) {
    await sleep(Math.min(KILL_AFTER_MS, durationMs / 4));
    const [serverIndex, server] = [turn % 2, servers[turn % 2]!];
    servers[serverIndex] = undefined;
    killAll({ pid: server.pid });
    expect(await server.ended).toBe('SIGKILL');
    unexpectedErrors.push(...server.errorLogLines);
    totals.kills += 1;
    await start(serverIndex);
    if (turn % 2 === 1) await expectNoFinding();
  }
  await acts.stop();
  for (const each of callers) await each.stop();
  unexpectedErrors.push(...acts.unexpectedErrors, ...callers.flatMap((each) => each.unexpectedResponses));
  for (const name of ['acts', 'keys', 'comparisons'] as const) totals[name] += acts.counts[name];
  const resent = await resend(callers.flatMap(({ unconfirmed }) => unconfirmed));
  totals.requests += acknowledged().length;
  expect(new Set(acknowledged().map(({ kind }) => kind)).size).toBe(6);
  return [...acknowledged(), ...resent];
}

/** Resends the last 20 unconfirmed requests, except promotion checks, to both servers. The second server must repeat the first response. */
async function resend(unconfirmed: Callers['unconfirmed']): Promise<AcknowledgedRequest[]> {
  const resent: AcknowledgedRequest[] = [];
  for (const request of unconfirmed.filter(({ kind }) => kind !== 'promotionCheck').slice(-20)) {
    const [first, second] = [await send(targets[0]!, request), await send(targets[1]!, request)];
    expect([first.status, second.status, second.isReplay, second.body]).toEqual([200, 200, true, first.body]);
    resent.push({ ...request, responseBody: first.body, ledgerSeq: first.ledgerSeq });
  }
  return resent;
}

async function expectAllStored(acknowledged: readonly AcknowledgedRequest[]): Promise<void> {
  const database = await acquireEmbeddedDatabase({ dataDir: data.path, notify: () => undefined });
  const pool = sealedPool(database.superuser, data.path);
  try {
    await expectStored(pool, tenantId, acknowledged);
  } finally {
    await pool.end();
    await database.release();
  }
}

const checkpoint = async (name: string): Promise<string> => {
  const note = await run('ledger', 'checkpoint', '--workspace', 'mixed');
  writeFileSync(join(folder, name), `${note}\n`);
  return join(folder, name);
};
const verifyAgainst = async (checkpointPath: string) => {
  const vkey = await run('signing-key', 'show', '--vkey');
  return command('ledger', 'verify', '--workspace', 'mixed', '--checkpoint', checkpointPath, '--key', vkey);
};

/**
 * Verifies an export against a checkpoint. If the checkpoint does not match, the output explains why: the export has an entry about the
 * restore.
 */
async function verifyExportAgainst(checkpointPath: string) {
  const [file, vkey] = [join(folder, 'audit.ndjson'), join(folder, 'instance.vkey')];
  await run('ledger', 'export', '--workspace', 'mixed', '--output', file);
  writeFileSync(vkey, await run('signing-key', 'show', '--vkey'));
  return command('ledger', 'verify', '--file', file, '--checkpoint', checkpointPath, '--key', vkey);
}

/** Restores as docs/operating.md describes: stop everything, restore the folder, accept the restore, start the servers. */
async function restore(backup: string): Promise<void> {
  await stopServers();
  await until('nothing runs', () => data.isStopped(), LIST_EVERY_MS);
  renameSync(data.path, `${data.path}.damaged`);
  renameSync(backup, data.path);
  await run('ledger', 'accept-restore', '--workspace', 'mixed', '--yes');
  for (const serverIndex of [0, 1]) await start(serverIndex);
}

test('two servers that are killed under mixed load lose only records acknowledged between backup and restore, and report no finding', {
  timeout: LOAD_MS * 3 + 600_000,
}, async () => {
  const before = await load(LOAD_MS / 2, servers.length);
  await expectAllStored(before);
  const kept = await checkpoint('kept');
  await stopServers();
  await until('nothing runs', () => data.isStopped(), LIST_EVERY_MS);
  const backup = `${data.path}.backup`;
  execFileSync('cp', ['-a', data.path, backup]); // keeps the owners: PostgreSQL may run as another user
  for (const serverIndex of [0, 1]) await start(serverIndex);

  await load(Math.min(LOAD_MS / 8, 60_000), 0);
  const abandoned = await checkpoint('abandoned');
  await restore(backup);
  await expectNoFinding();
  expect(await verifyAgainst(kept)).toEqual([0, expect.stringMatching(/^valid/)]);

  const after = await load(LOAD_MS / 2, servers.length);
  await expectAllStored([...before, ...after]);
  await expectNoFinding();
  expect(await verifyAgainst(kept)).toEqual([0, expect.stringMatching(/^valid/)]);
  expect(await verifyAgainst(abandoned)).toEqual([1, expect.anything()]);
  const explained = expect.stringMatching(/ledger\.restore_accepted.*is the abandoned head/);
  expect(await verifyExportAgainst(abandoned)).toEqual([1, explained]);
  await stopServers();
  expect(unexpectedErrors).toEqual([]);
  for (const [what, count] of Object.entries(totals)) expect([what, count > 3]).toEqual([what, true]);
  if (process.env.MINUTES !== undefined) process.stdout.write(`${JSON.stringify(totals)}\n`);
});
