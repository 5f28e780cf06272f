import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { decisionFault } from '@countersign/core/domain/decision-signature';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VARIABLES } from '../../src/config/variables.ts';
import { digests } from '../../src/crypto/digests.ts';
import { EXIT_CODES } from '../../src/errors/exit-codes.ts';
import { type CommandResult, environmentOf, runCommand, runForJson } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

let server: TestServer;
let environment: Record<string, string>;
let id: string;

const run = (...args: string[]): Promise<CommandResult> => runCommand(environment, ...args);

beforeAll(async () => {
  server = await testServer();
  environment = environmentOf(server);
  id = (await run('workspace', 'create', '--name', 'acme')).out.trim();
});

/** Runs a command of the workspace acme with --json and expects success. */
const runJson = (...args: string[]) => runForJson(environment, ...args, '--workspace', 'acme');

const evaluate = async (key: string, agent: string, body: object = {}) =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95, ...body })).body.id;

describe('workspaces and keys', () => {
  test('`workspace create` prints only the ID on stdout and rejects a name in use', async () => {
    const created = await run('workspace', 'create', '--name', 'Ünïted 🦉');
    expect(created.out).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(created.status).toBe(0);
    const repeated = await run('workspace', 'create', '--name', 'Ünïted 🦉');
    expect(repeated).toEqual({ status: 9, out: '', err: expect.stringMatching(/exists already; choose another name\n$/) });
    const { out } = await run('workspace', 'list', '--json');
    expect(JSON.parse(out)).toContainEqual({
      id: created.out.trim(),
      name: 'Ünïted 🦉',
      created_at: expect.stringMatching(/Z$/),
    });
  });

  test('`keys mint` prints only the key on stdout, and the key has only the given scopes', async () => {
    const { out, err, status } = await run(
      ...['keys', 'mint', '--workspace', 'acme', '--name', 'ci', '--scopes', 'audit, governance,audit'],
    );
    expect(status).toBe(0);
    expect(out).toMatch(/^aa_live_[0-9a-f]{12}\.[\w-]{43}\n$/);
    expect(err).not.toContain(out.trim());
    const response = await server.post(paths.audit, out.trim(), { actor: 'ci', action: 'build.done' });
    expect(response.status).toBe(200);
    expect((await server.post(paths.evaluations, out.trim(), { name: 'x' })).body.error).toBe('insufficient_scope');
  });

  test('the next request with a revoked key, or with the old secret of a rotated key, fails; `keys list` shows no secret', async () => {
    const { key: first, prefix } = await runJson('keys', 'mint', '--name', 'rotating', '--scopes', 'audit');
    const rotated = await run('keys', 'rotate', '--workspace', 'acme', `aa_live_${prefix}`);
    const second = rotated.out.trim();
    expect(rotated.out).toMatch(new RegExp(`^aa_live_${prefix}\\.[\\w-]{43}\\n$`));
    const body = { actor: 'ci', action: 'build.done' };
    expect((await server.post(paths.audit, first, body)).status).toBe(401);
    expect((await server.post(paths.audit, second, body)).status).toBe(200);
    expect((await run('keys', 'revoke', '--workspace', 'acme', prefix)).status).toBe(0);
    expect((await server.post(paths.audit, second, body)).status).toBe(401);
    expect((await run('keys', 'revoke', '--workspace', 'acme', prefix)).status).toBe(9);
    expect((await run('keys', 'rotate', '--workspace', 'acme', '0123456789ab')).status).toBe(9);
    const keys = await runJson('keys', 'list');
    expect(keys.find((key: { prefix: string }) => key.prefix === prefix)).toMatchObject({
      name: 'rotating',
      scopes: ['audit'],
      state: 'revoked',
      rotated_at: expect.any(String),
      revoked_at: expect.any(String),
    });
    const table = (await run('keys', 'list', '--workspace', 'acme')).out;
    for (const text of [JSON.stringify(keys), table])
      for (const key of [first, second]) expect(text).not.toContain(key.slice(22));
  });

  test('`keys scopes` changes the scopes of a key from its next request on, and the key audit trail records the change', async () => {
    const { key, prefix } = await runJson('keys', 'mint', '--name', 'rescoped', '--scopes', 'audit');
    expect(await runJson('keys', 'scopes', prefix, '--scopes', 'governance, telemetry')).toEqual({
      prefix,
      scopes: ['telemetry', 'governance'],
    });
    expect((await server.post(paths.audit, key, { actor: 'ci', action: 'build.done' })).status).toBe(401);
    expect((await server.post(paths.telemetry, key, { trace_id: 't', outcome: 'x' })).status).toBe(200);
    const repeated = await run('keys', 'scopes', '--workspace', 'acme', prefix, '--scopes', 'telemetry,governance');
    expect([repeated.status, repeated.err]).toEqual([9, expect.stringContaining('has the scopes telemetry, governance already')]);
    const [event] = await server.database.sql('SELECT action FROM countersign.key_events ORDER BY seq DESC LIMIT 1');
    expect(event).toEqual({ action: 'scopes_changed' });
    expect((await run('keys', 'scopes', '--workspace', 'acme', prefix, '--scopes', 'nonsense')).status).toBe(2);
  });

  test('`--expires` is converted to UTC, is read as UTC if it has no offset, and must be a valid time in the future', async () => {
    const mint = (expires: string) => runJson('keys', 'mint', '--name', 'ends', '--scopes', 'audit', '--expires', expires);
    expect((await mint('2090-01-01T02:00:00+02:00')).expires_at).toBe('2090-01-01T00:00:00.000Z');
    const { prefix } = await mint('2090-01-01T00:00:00');
    const [row] = await server.database.sql('SELECT expires_at FROM countersign.ingestion_keys WHERE prefix = $1', [prefix]);
    expect(row?.expires_at.toISOString()).toBe('2090-01-01T00:00:00.000Z');
    for (const wrong of ['2020-01-01T00:00:00Z', 'tomorrow', '2090-02-30T00:00:00Z', '9999-12-31T23:59:59-01:00']) {
      const args = ['keys', 'mint', '--workspace', 'acme', '--name', 'x', '--scopes', 'audit', '--expires', wrong];
      expect((await run(...args)).status, wrong).toBe(2);
    }
  });

  test('`--workspace` accepts an ID in capital letters and rejects an unknown name', async () => {
    expect((await run('keys', 'list', '--workspace', id.toUpperCase())).status).toBe(0);
    const { status, err } = await run('keys', 'list', '--workspace', 'nowhere');
    expect([status, err]).toEqual([9, expect.stringMatching(/no workspace "nowhere"; `workspace list` shows/)]);
  });

  test('`keys revoke` does not print a whole key that was passed as a prefix', async () => {
    const { status, err } = await run('keys', 'revoke', '--workspace', 'acme', 'aa_live_0123456789ab.topsecrettopsecret');
    expect(status).toBe(2);
    expect(err).not.toContain('topsecret');
  });
});

describe('governance', () => {
  test('a high-risk agent is blocked, allowed after an approval, blocked again by an incident, and re-certified', async () => {
    const { key } = await runJson('keys', 'mint', '--name', 'ci', '--scopes', 'evaluations,governance');
    const check = async () => (await server.post(paths.promotionCheck, key, { agent_name: 'support-bot' })).body;
    const first = await evaluate(key, 'support-bot');

    expect(await runJson('agents', 'risk', '--agent', 'support-bot', 'high')).toMatchObject({
      risk_level: 'high',
      changed: true,
    });
    expect(await runJson('agents', 'risk', '--agent', 'support-bot', 'high')).toMatchObject({ changed: false });
    expect((await check()).reason).toBe('approval_required');
    expect((await runJson('approvals', 'list'))[0]).toMatchObject({
      evaluation_id: first,
      agent: 'support-bot',
      status: 'pending',
    });
    await runJson('approvals', 'approve', '--evaluation', first.toUpperCase(), '--rationale', 'read it');
    expect((await check()).allowed).toBe(true);

    const incident = ['incidents', 'open', '--agent', 'support-bot', '--severity', 'critical', '--description', 'it lied'];
    const { incident_id: incidentId } = await runJson(...incident, '--recertify');
    expect((await check()).reason).toBe('recertification_open');
    expect(await runJson('agents', 'list')).toContainEqual(
      expect.objectContaining({ name: 'support-bot', risk_level: 'high', open_recertifications: 1 }),
    );
    const close = ['recertifications', 'close', '--agent', 'support-bot', '--rationale', 'trained anew'];
    expect((await run(...close, '--workspace', 'acme')).status).toBe(9);

    const second = await evaluate(key, 'support-bot');
    expect(await runJson(...close)).toEqual({ agent: 'support-bot', incident_ids: [incidentId], evaluation_id: second });
    await runJson('approvals', 'reject', '--evaluation', second, '--rationale', 'not this one');
    expect((await check()).reason).toBe('approval_rejected');
    expect((await runJson('incidents', 'list'))[0]).toMatchObject({
      incident_id: incidentId,
      severity: 'critical',
      recertification: 'closed',
      closing_evaluation_id: second,
      closing_rationale: 'trained anew',
    });
    expect((await runJson('approvals', 'list')).map(({ status }: { status: string }) => status)).toEqual([
      'approved',
      'rejected',
    ]);
  });

  test('`incidents list` prints one line per incident, and stored text cannot control the terminal', async () => {
    const open = ['incidents', 'open', '--workspace', 'acme', '--agent', 'support-bot', '--severity', 'low'];
    const opened = await run(...open, '--description', 'line one\nline two \u001b[31m\u202e');
    expect(opened.out).toMatch(/^[0-9a-f-]{36}\n$/);
    const { out } = await run('incidents', 'list', '--workspace', 'acme');
    expect(out.trimEnd().split('\n')).toHaveLength(3);
    expect(out).toMatch(/^OPENED +SEVERITY +AGENT +RE-CERTIFICATION +INCIDENT ID +DESCRIPTION\n/);
    expect(out).toContain('line one ⏎ line two \\u001b[31m\\u202e');
  });

  test('`decision-key show` prints the key that verifies a decision of the running server', async () => {
    const { key } = await runJson('keys', 'mint', '--name', 'gate', '--scopes', 'governance');
    const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'anybody' });
    const { out } = await run('decision-key', 'show', '--workspace', 'acme');
    expect(out).toMatch(/^[0-9a-f]{64}\n$/);
    expect(decisionFault(body, Buffer.from(out.trim(), 'hex'), digests)).toBeUndefined();
    expect(await runJson('decision-key', 'show')).toEqual({ key_id: body.key_id, decision_key: out.trim() });
  });
});

describe('ledger', () => {
  test('an export is the same on stdout and in a file; `verify` accepts it, and names the first altered row', async () => {
    const file = join(folder, 'acme.ndjson');
    const { out } = await run('ledger', 'export', '--workspace', 'acme');
    const written = await run('ledger', 'export', '--workspace', 'acme', '--output', file);
    expect(written.out).toBe('');
    expect(readFileSync(file, 'utf8')).toBe(out);
    expect(readdirSync(folder)).toEqual(['acme.ndjson']);
    const count = out.split('\n').length - 1;
    const head = JSON.parse(out.trimEnd().split('\n').at(-1)!).row_hash;
    const accepted = { status: 0, out: `valid: ${count} entries, head ${head}\n`, err: '' };
    expect(await run('ledger', 'verify', '--file', file)).toEqual(accepted);
    expect(await run('ledger', 'verify', '--workspace', 'acme')).toEqual(accepted);
    const { out: report } = await run('ledger', 'verify', '--file', file, '--json');
    expect(JSON.parse(report)).toEqual({
      result: 'ok',
      tenant_id: id,
      entries: count,
      head_row_hash: head,
      times_checked: true,
    });

    writeFileSync(file, out.replace('"seq":2', '"seq":3'));
    const broken = await run('ledger', 'verify', '--file', file);
    expect(broken).toEqual({ status: 1, out: expect.stringMatching(/^broken at seq 2: seq is 3, expected 2/), err: '' });
    const brokenJson = await run('ledger', 'verify', '--file', file, '--json');
    expect(brokenJson.status).toBe(1);
    expect(JSON.parse(brokenJson.out)).toMatchObject({ result: 'broken', first_bad: { seq: 2 }, entries_whole_before: 1 });
  });

  test('an empty ledger exports no bytes and is valid', async () => {
    await run('workspace', 'create', '--name', 'empty');
    expect((await run('ledger', 'export', '--workspace', 'empty')).out).toBe('');
    expect((await run('ledger', 'verify', '--workspace', 'empty')).out).toBe('valid: 0 entries\n');
  });

  test('`ledger verify` and `ledger export` exit with 2 and one line if a file cannot be read or written, and leave no file', async () => {
    for (const args of [
      ['verify', '--file', join(folder, 'absent')],
      ['verify', '--file', folder],
      ['export', '--workspace', 'acme', '--output', join(folder, 'absent', 'x')],
      ['export', '--workspace', 'acme', '--output', folder],
    ]) {
      const { status, out, err } = await run('ledger', ...args);
      expect([status, out], args.join(' ')).toEqual([2, '']);
      expect(err).toMatch(/^countersign-server: cannot (read|write) .*\n$/);
    }
    const beside = readdirSync(tmpdir()).filter((name) => name.startsWith(basename(folder)));
    expect(beside).toEqual([basename(folder)]);
  });

  test('an export follows a symbolic link and writes to a device', async () => {
    mkdirSync(join(folder, 'kept'));
    symlinkSync(join(folder, 'kept', 'real'), join(folder, 'link'));
    writeFileSync(join(folder, 'kept', 'real'), 'old');
    expect((await run('ledger', 'export', '--workspace', 'acme', '--output', join(folder, 'link'))).status).toBe(0);
    expect(readFileSync(join(folder, 'kept', 'real'), 'utf8')).toMatch(/^\{/);
    expect(readdirSync(join(folder, 'kept'))).toEqual(['real']);
    expect((await run('ledger', 'export', '--workspace', 'acme', '--output', '/dev/null')).status).toBe(0);
    expect(spawnSync('test', ['-c', '/dev/null']).status).toBe(0);
  });
});

describe('approvals and violations', () => {
  test('an approval can be withdrawn before a decision uses it, and not afterwards', async () => {
    const { key } = await runJson('keys', 'mint', '--name', 'ci', '--scopes', 'evaluations,governance');
    const check = async () => (await server.post(paths.promotionCheck, key, { agent_name: 'withdrawn-bot' })).body;
    const evaluation = await evaluate(key, 'withdrawn-bot');
    await runJson('agents', 'risk', '--agent', 'withdrawn-bot', 'high');
    const approvalArguments = (name: string) => ['approvals', name, '--evaluation', evaluation, '--rationale', 'why'];
    await runJson(...approvalArguments('approve'));
    expect(await runJson(...approvalArguments('withdraw'))).toEqual({ evaluation_id: evaluation, status: 'pending' });
    expect((await check()).reason).toBe('approval_required');
    await runJson(...approvalArguments('approve'));
    expect((await check()).allowed).toBe(true);
    const { status, err } = await run(...approvalArguments('withdraw'), '--workspace', 'acme');
    expect([status, err]).toEqual([9, expect.stringContaining('was used by decision')]);
  });

  test('a policy violation of a known agent is recorded in the ledger with its policy, severity and run', async () => {
    const { key } = await runJson('keys', 'mint', '--name', 'ci', '--scopes', 'evaluations');
    await evaluate(key, 'sly-bot');
    const violation = ['--policy', 'refunds', '--severity', 'medium', '--description', 'refunded twice', '--trace-id', 'run-7'];
    const { violation_id } = await runJson('incidents', 'violation', '--agent', 'sly-bot', ...violation);
    const [row] = await server.database.sql<{ document: string }>(
      `SELECT document FROM countersign.audit_entries WHERE action = 'policy.violation'`,
    );
    expect(JSON.parse(row!.document)).toMatchObject({
      recorded_by: 'operator',
      subject: 'sly-bot',
      rationale: 'refunded twice',
      trace_id: 'run-7',
      metadata: { violation_id, policy: 'refunds', severity: 'medium' },
    });
    const refused = await run('incidents', 'violation', '--workspace', 'acme', '--agent', 'nobody', ...violation);
    expect([refused.status, refused.err]).toEqual([9, expect.stringContaining('no agent named "nobody"')]);
  });
});

describe('the command line', () => {
  test('help lists every exit code and variable, and the help of each command has an example and names --json', async () => {
    const { out, status } = await run('--help');
    expect(status).toBe(0);
    const flat = out.replace(/\s+/g, ' ');
    for (const { status, meaning } of Object.values(EXIT_CODES)) expect(flat).toContain(`${status} ${meaning}`);
    for (const { name, meaning } of Object.values(VARIABLES)) expect(flat).toContain(`${name} ${meaning}`);
    const commands = `serve; migrate; backup; restore; workspace create; workspace list; members invite; members add;
      members list; members reset-password; keys mint; keys rotate; keys scopes; keys revoke; keys list; tokens mint;
      tokens rotate; tokens revoke; tokens list; ledger export; ledger verify; ledger checkpoint; ledger prove;
      ledger accept-restore; ledger correct-clock; trust show; retention show; retention set; retention run;
      runs erase; decision-key show; decision-key list; decision-key rotate; decision-key retire; signing-key show;
      signing-key rotate; signing-key retire; signing-key reset; agents list; agents risk; approvals list;
      approvals approve; approvals reject; approvals withdraw; incidents open; incidents violation; incidents list;
      recertifications close`;
    for (const command of commands.split(/;\s+/)) {
      const help = await run(...command.split(' '), '--help');
      expect(help, command).toMatchObject({ status: 0, err: '' });
      expect(help.out).toContain(`Examples:\n  $ countersign-server ${command}`);
      expect(help.out).toContain('--json');
    }
  });

  test.each([
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['key', 'mint'], /unknown command 'key'; did you mean keys\?/],
    [['help', 'frobnicate'], /unknown command 'frobnicate'/],
    [['frobnicate', '--help'], /unknown command 'frobnicate'/],
    [['workspace', 'create', '--nme', 'foo'], /unknown option '--nme'; did you mean --name\?/],
    [['workspace', 'create', '--name', ' acme'], /the name must not begin or end with white space/],
    [['keys', 'mint', '--workspace', 'acme', '--name', 'x ', '--scopes', 'audit'], /white space/],
    [['agents', 'list', '--workspace', 'acme', '--workspace=beta'], /option '--workspace' is given twice/],
    [['keys', 'mint', '--workspace', 'acme'], /--name <name>' not specified/],
    [['keys', 'mint', '--workspace', 'acme', '--name', 'x', '--scopes', 'audit,admin'], /"admin" is not a scope/],
    [['keys', 'mint', '--workspace', 'acme', '--name', 'x', '--scopes', ''], /"" is not a scope/],
    [['keys', 'mint', '--workspace', 'acme', '--name', '', '--scopes', 'audit'], /the name must not be empty/],
    [['keys', 'list', '--workspace', 'acme', 'extra'], /too many arguments/],
    [['keys', 'list', '--workspace', 'acme', '--all'], /unknown option '--all'/],
    [['workspace', 'create', '--name', 'a\u001b[2J'], /control characters/],
    [['agents', 'risk', '--workspace', 'acme', '--agent', 'x', 'medium'], /Allowed choices are low, high/],
    [['incidents', 'open', '--workspace', 'acme', '--agent', 'x', '--severity', 'bad', '--description', 'x'], /Allowed choices/],
    [['approvals', 'approve', '--workspace', 'acme', '--evaluation', '7', '--rationale', 'x'], /Give a UUID/],
    [
      ['approvals', 'reject', '--workspace', 'acme', '--evaluation', '7e5d3c1b-2a4f-4968-b7d0-1c3e5f7a9b2d', '--rationale', ' '],
      /rationale/,
    ],
    [['ledger', 'verify'], /give --workspace NAME or --file FILE/],
    [['retention', 'set', '--workspace', 'acme'], /give --traces, --telemetry, or both/],
    [['ledger', 'verify', '--workspace', 'acme', '--file', 'x'], /cannot be used with/],
  ])('the usage error %j exits with 2 and prints one line on stderr, as JSON with --json', async (args, message) => {
    const asText = await run(...args);
    expect([asText.status, asText.out]).toEqual([2, '']);
    expect(asText.err.replaceAll('\n', ' ')).toMatch(message);
    expect(asText.err).toMatch(/^countersign-server: [^\n]+\n$/);
    const asJson = await run(...args, '--json');
    expect([asJson.status, asJson.out]).toEqual([2, '']);
    expect(JSON.parse(asJson.err)).toEqual({ error: 'wrong_use', message: expect.stringMatching(message) });
  });

  test('accepts --json before the command and `help` before a command of two words', async () => {
    const before = await run('--json', 'workspace', 'list');
    expect([before.status, before.err, JSON.parse(before.out)[0]]).toEqual([0, '', expect.objectContaining({ name: 'acme' })]);
    expect((await run('help', 'keys', 'mint')).out).toBe((await run('keys', 'mint', '--help')).out);
    expect((await run('help')).out).toBe((await run('--help')).out);
  });

  test('commands that open the database report unknown COUNTERSIGN_ variables, but not with --json', async () => {
    const bogus = { ...environment, COUNTERSIGN_BOGUS: '1' };
    const { status, err } = await runCommand(bogus, 'workspace', 'list');
    expect([status, err]).toEqual([0, 'unknown variable: COUNTERSIGN_BOGUS; --help lists the known ones\n']);
    expect((await runCommand(bogus, 'workspace', 'list', '--json')).err).toBe('');
  });

  test('--version prints only the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await run('--version')).toMatchObject({ status: 0, out: `${version}\n`, err: '' });
    expect((await run('--help')).out).toContain('--version');
  });

  test('a command group without a command exits with 2 and prints its help on stderr, or an error with --json', async () => {
    for (const args of [[], ['keys'], ['ledger']]) {
      const { status, out, err } = await run(...args);
      expect([status, out]).toEqual([2, '']);
      expect(err).toMatch(/^Usage: /);
    }
    expect(JSON.parse((await run('keys', '--json')).err)).toMatchObject({ error: 'wrong_use' });
  });

  test('`migrate` on a current schema reports that the schema was up to date', async () => {
    expect(await run('migrate')).toEqual({ status: 0, out: '', err: expect.stringMatching(/the schema was up to date/) });
    expect(JSON.parse((await run('migrate', '--json')).out)).toEqual({ migrated: [] });
  });
});
