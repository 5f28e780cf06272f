/*
 * Makes the database of this version for upgrade.test.ts: `npm run upgrade-fixture`. The database has rows in every table except
 * `sign_in_attempts`. Run this script before each release that adds a migration. Commit the two files that it writes to
 * test/fixtures/databases: VERSION.backup and VERSION.json.
 *
 * Run it with a clock far in the past: `FAKETIME_DONT_FAKE_MONOTONIC=1 faketime -f '-700d' npm run upgrade-fixture`. The test starts a
 * server on this database, and a server writes nothing while its clock is earlier than the newest row of a log.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../src/cli/version.ts';
import { newKey } from '../fixtures/run-command.ts';
import { DataFolder, run, ServerProcess } from '../fixtures/server-process.ts';
import { Browser } from '../harness/portal-browser.ts';
import { chatRun, id, jsonExport, newTrace, pairs, protobufExport } from '../otlp/test-exports.ts';
import { DATABASES, type DatabaseFacts, LOGS, PASSPHRASE } from './released-databases.ts';

const ACME = ['--workspace', 'acme'];
const folder = new DataFolder();
const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const server = await ServerProcess.start(folder.environment);
const command = (...args: string[]) => run(args, folder.environment);

try {
  const facts = await fillDatabase();
  const path = join(DATABASES, VERSION);
  mkdirSync(DATABASES, { recursive: true });
  rmSync(`${path}.backup`, { force: true });
  const environment = { ...folder.environment, COUNTERSIGN_BACKUP_PASSPHRASE: PASSPHRASE };
  await run(['backup', '--output', `${path}.backup`, '--with-secrets'], environment);
  writeFileSync(`${path}.json`, `${JSON.stringify(facts, null, 2)}\n`);
} finally {
  await server.end('SIGTERM');
  await folder.clear();
  rmSync(scratch, { recursive: true, force: true });
}

async function fillDatabase(): Promise<DatabaseFacts> {
  const { key } = await newKey(folder.environment, 'acme');
  const other = await newKey(folder.environment, 'other');
  await post('/api/public/traces', other.key, { trace_id: 'of another workspace', spans: [] });
  const readToken = await command('tokens', 'mint', ...ACME, '--name', 'auditor');
  const revokedKey = await command('keys', 'mint', ...ACME, '--name', 'old', '--scopes', 'audit');
  await command('keys', 'revoke', ...ACME, revokedKey.split('.')[0]!);
  await command('retention', 'set', ...ACME, '--traces', '3650', '--telemetry', '3650');
  const runs = await sendRuns(key);
  const otlpTrace = await sendExports(key);
  const decisions = await recordDecisions(key);
  // More than 256 entries, so that the tree of the log has stored nodes.
  for (let entry = 0; entry < 260; entry += 1) await post('/api/public/audit', key, { actor: 'ci', action: 'test.ran' });
  await command('runs', 'erase', ...ACME, '--trace', 'erased', '--rationale', 'request 7');
  await command('decision-key', 'rotate', ...ACME);
  const person = await addPeople();
  const checkpoints: Record<string, string> = {};
  for (const log of LOGS) {
    const file = join(scratch, log);
    await command('ledger', 'checkpoint', ...ACME, '--log', log, '--output', file);
    checkpoints[log] = readFileSync(file, 'utf8');
  }
  const verifyKey = await command('signing-key', 'show', '--vkey');
  return { key, revokedKey, readToken, ...person, runs, otlpTrace, decisions, verifyKey, checkpoints };
}

/** Sends a body and throws unless the status is 200. Returns the response, or undefined for bytes, which are sent as protobuf. */
// biome-ignore lint/suspicious/noExplicitAny: responses of all endpoints.
async function post(path: string, key: string, body: object): Promise<any> {
  const isBytes = body instanceof Uint8Array;
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': isBytes ? 'application/x-protobuf' : 'application/json', authorization: `Bearer ${key}` },
    body: (isBytes ? body : JSON.stringify(body)) as NonNullable<RequestInit['body']>,
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return isBytes ? undefined : JSON.parse(text);
}

/** Sends traces and telemetry. Returns the ID of each trace in the portal, by its trace_id. */
async function sendRuns(key: string): Promise<Record<string, string>> {
  const usage = { model: 'gpt-4o', prompt_tokens: 100, completion_tokens: 20, cost_usd: 0.0012 };
  const step = (span_id: string, members: object = {}) => ({ span_id, kind: 'llm', name: 'plan', ...usage, ...members });
  const runs: Record<string, string> = {};
  const send = async (trace_id: string, members: object) => {
    ({ id: runs[trace_id] } = await post('/api/public/traces', key, { trace_id, agent_name: 'refund-agent', ...members }));
  };
  await send('merged', {
    outcome: 'success',
    session_id: 's1',
    spans: [step('a'), step('b', { kind: 'tool', name: 'look up' })],
  });
  await send('merged', { spans: [step('b', { kind: 'tool', name: 'look up again' }), step('c')] });
  await send('failed', { outcome: 'failure', error: 'no order found', spans: [step('a', { status: 'error' })] });
  await send('evaluated', { outcome: 'success', spans: [step('a', { messages: [{ role: 'user', content: 'Hello' }] })] });
  await send('erased', { outcome: 'success', external_user_id: 'u-7', spans: [step('a')] });
  // Documents of one batch are compressed together.
  const sendCompressed = (number: number) =>
    send(`compressed ${number}`, { spans: [step('a', { output: `${number}`.repeat(4_000) })] });
  await Promise.all(Array.from({ length: 20 }, (_, number) => sendCompressed(number)));
  const events = ['merged', 'only telemetry'].map((trace_id) => ({ trace_id, outcome: 'success', agent_name: 'refund-agent' }));
  await post('/api/public/telemetry', key, { events });
  return runs;
}

/** Sends a run with a log record, and a run without its root span. Returns the trace_id of the first run. */
async function sendExports(key: string): Promise<string> {
  const [traceId, incomplete] = [newTrace(), newTrace()];
  await post('/v1/traces', key, protobufExport(chatRun(traceId)));
  await post('/v1/traces', key, jsonExport(chatRun(incomplete).slice(0, 1)));
  const body = { kvlistValue: { values: pairs({ content: 'How are you?' }) } };
  const record = { traceId, spanId: id(2), eventName: 'gen_ai.user.message', timeUnixNano: '1700000000000001000', body };
  await post('/v1/logs', key, { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
  return traceId;
}

/**
 * Records evaluations, an approval, and incidents with a closed and an open re-certification. Checks promotions between these steps, and
 * returns the decisions.
 */
async function recordDecisions(key: string): Promise<DatabaseFacts['decisions']> {
  const decisions: DatabaseFacts['decisions'] = [];
  const checkPromotion = async (agent_name: string) => {
    const { decision_id, allowed } = await post('/api/public/governance/promotion-check', key, { agent_name });
    decisions.push({ id: decision_id, allowed });
  };
  const evaluate = (agent_name: string, pass_rate: number) =>
    post('/api/public/evaluations', key, { name: 'nightly', agent_name, pass_rate });
  const openIncident = (agent: string) =>
    command('incidents', 'open', ...ACME, '--agent', agent, '--severity', 'high', '--description', 'twice', '--recertify');
  const { id: evaluation } = await evaluate('refund-agent', 97.5);
  await command('agents', 'risk', ...ACME, '--agent', 'refund-agent', 'high');
  await checkPromotion('refund-agent');
  await command('approvals', 'approve', ...ACME, '--evaluation', evaluation, '--rationale', 'reviewed');
  await checkPromotion('refund-agent');
  await post('/api/v1/evaluations', key, {
    name: 'nightly of build 7',
    agent_name: 'summary-agent',
    suite: { name: 'regression' },
    cases: { total: 10, passed: 9, failed: 1 },
    evaluated_at: new Date().toISOString(),
    trace_ids: ['evaluated'],
  });
  await openIncident('summary-agent');
  await checkPromotion('summary-agent');
  await evaluate('summary-agent', 95);
  await command('recertifications', 'close', ...ACME, '--agent', 'summary-agent', '--rationale', 'evaluated again');
  await checkPromotion('summary-agent');
  await openIncident('refund-agent');
  return decisions;
}

/** Adds a person with a password, and an invitation that nobody has accepted. */
async function addPeople(): Promise<{ email: string; password: string }> {
  const [email, password] = ['ada@example.com', 'correct horse battery staple'];
  const link = await command('members', 'invite', ...ACME, '--email', email, '--role', 'admin');
  const acceptance = { token: new URL(link).hash.slice(1), name: 'Ada', password };
  const { status, body } = await new Browser(server).call('POST', '/links/accept-invitation', acceptance);
  if (status !== 200) throw new Error(JSON.stringify(body));
  await command('members', 'invite', ...ACME, '--email', 'grace@example.com', '--role', 'viewer');
  return { email, password };
}
