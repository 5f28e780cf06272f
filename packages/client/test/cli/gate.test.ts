import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { runCli, type TerminalOverrides } from '../fixtures/run-cli.ts';

let server: TestServer;
let tenantId: string;
let key: string;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace('acme');
  key = await server.key(tenantId);
  folder = mkdtempSync(join(tmpdir(), 'countersign-gate-'));
  environment = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const operate = async (...args: string[]) => {
  const result = await runCommand(environmentOf(server), ...args);
  if (result.status !== 0) throw new Error(result.err);
  return result.out.trim();
};
const evaluate = (body: object) => server.post(paths.evaluations, key, { name: 'nightly', ...body });
const gate = (args: string[], overrides: TerminalOverrides = {}) => runCli(['gate', ...args], { environment, ...overrides });
const inFile = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('gate with the real server', () => {
  beforeAll(async () => {
    await evaluate({ agent_name: 'good', pass_rate: 92.5 });
    await evaluate({ agent_name: 'poor', pass_rate: 60 });
    await evaluate({ agent_name: 'risky', pass_rate: 99 });
    await evaluate({ agent_name: 'reopened', pass_rate: 99 });
    for (const name of ['risky', 'reopened']) await operate('agents', 'risk', '--workspace', 'acme', '--agent', name, 'high');
  });

  test.each([
    ['allowed', ['--agent', 'good', '--min-pass-rate', '90', '--max-age-hours', '24'], 0, 'ALLOWED: good may be promoted'],
    [
      'blocked',
      ['--agent', 'poor', '--min-pass-rate', '90'],
      1,
      'BLOCKED: The pass rate of poor is 60 %, below the 90 % required.',
    ],
    ['an unknown agent', ['--agent', 'nobody'], 1, 'BLOCKED: No agent named "nobody" is known here'],
    ['a pending approval', ['--agent', 'risky'], 4, 'PENDING: risky is high-risk'],
  ])('prints the outcome and exits with its code: %s', async (_outcome, args, status, line) => {
    const text = await gate(args);
    expect({ status: text.status, err: text.err }).toEqual({ status, err: '' });
    expect(text.out).toContain(line);
    const json = await gate([...args, '--json']);
    expect([json.status, json.err]).toEqual([status, '']);
    expect(JSON.parse(json.out)).toMatchObject({ exit_code: status, decision: { allowed: status === 0 }, verified_by: null });
  });

  test('shows runs of spaces in the name of an agent', async () => {
    await evaluate({ agent_name: 'go  od', pass_rate: 92.5 });
    expect((await gate(['--agent', 'go  od'])).out).toContain('ALLOWED: go\u2423\u2423od may be promoted');
  });

  test('writes the decision and its attestation, which the public key verifies', async () => {
    const vkey = inFile('instance.vkey', await operate('signing-key', 'show', '--vkey'));
    const [decision, attestation] = [join(folder, 'kept.json'), join(folder, 'attestation.json')];
    for (const withKey of [['--verify-key', vkey, '--workspace', tenantId], []]) {
      const result = await gate(['--agent', 'good', '--output', decision, '--attestation', attestation, ...withKey]);
      expect([result.status, result.err]).toEqual([0, '']);
      const checked = await runCli(['verify', 'decision', attestation, '--verify-key', vkey, '--json'], { environment });
      expect(checked.status).toBe(0);
      expect(JSON.parse(checked.out).decision).toEqual(JSON.parse(readFileSync(decision, 'utf8')));
    }
    const [line] = readFileSync(attestation, 'utf8').split('\n');
    writeFileSync(attestation, line!.replace('"payload":"ey', '"payload":"eX'));
    expect((await runCli(['verify', 'decision', attestation, '--verify-key', vkey], { environment })).status).toBe(1);
  });

  test('verifies with the decision key of the workspace and is undecided with another key', async () => {
    const right = inFile('right.key', await operate('decision-key', 'show', '--workspace', 'acme'));
    const wrong = inFile('wrong.key', 'ab'.repeat(32));
    const accepted = await gate(['--agent', 'good', '--verify-key', right, '--json']);
    expect([accepted.status, JSON.parse(accepted.out).verified_by]).toEqual([0, expect.stringMatching(/^decision key dk_/)]);
    expect((await gate(['--agent', 'good', '--verify-key', wrong])).status).toBe(3);
    expect((await gate(['--agent', 'good', '--verify-key', wrong, '--verify-key', right])).status).toBe(0);
    const byVariable = { ...environment, COUNTERSIGN_VERIFY_KEY: 'ab'.repeat(32) };
    const { status, out, err } = await gate(['--agent', 'good'], { environment: byVariable });
    expect([status, out]).toEqual([3, expect.stringContaining('the signature is not by this key')]);
    expect(out + err).not.toContain('abab');
  });

  test('verifies with the public key of the instance (verifier key, file or JWKS), and not with a retired or another key', async () => {
    const vkey = await operate('signing-key', 'show', '--vkey');
    const jwks = inFile('jwks.json', await (await fetch(`${server.url}/.well-known/jwks.json`)).text());
    for (const given of [vkey, inFile('instance.vkey', `${vkey}\n`), jwks]) {
      const { status, out } = await gate(['--agent', 'good', '--verify-key', given, '--workspace', tenantId, '--json']);
      expect([status, JSON.parse(out).verified_by]).toEqual([0, 'the public key of the instance']);
    }
    const retired = JSON.parse(readFileSync(jwks, 'utf8'));
    retired.keys[0].retired_at = '2020-01-01T00:00:00.000Z';
    expect(
      (await gate(['--agent', 'good', '--workspace', tenantId, '--verify-key', inFile('retired.json', JSON.stringify(retired))]))
        .status,
    ).toBe(3);
    const otherKey = 'countersign/d7a1e6c0-3b52-4f8e-9c41-0e6b2a7f5d93+04896c43+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
    expect((await gate(['--agent', 'good', '--workspace', tenantId, '--verify-key', otherKey])).status).toBe(3);
  });

  test('rejects an unwritable file before it requests a decision, and prints the verdict before it writes files', async () => {
    const countDecisions = () => server.database.sql('SELECT count(*) FROM countersign.decisions');
    const before = await countDecisions();
    for (const option of ['--output', '--attestation', '--junit'])
      for (const path of [join(folder, 'nosuch', 'x'), folder]) {
        const { status, out, err } = await gate(['--agent', 'good', option, path]);
        expect([status, out, err]).toEqual([2, '', expect.stringMatching(/^countersign: cannot write /)]);
      }
    expect(await countDecisions()).toEqual(before);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);

    const removedFolder = join(folder, 'going');
    mkdirSync(removedFolder);
    const fetchAndRemove: typeof fetch = (...call) => {
      rmSync(removedFolder, { recursive: true });
      return fetch(...call);
    };
    const unwritten = await gate(['--agent', 'good', '--output', join(removedFolder, 'x')], { fetch: fetchAndRemove });
    expect([unwritten.status, unwritten.out, unwritten.err]).toEqual([
      2,
      expect.stringContaining('ALLOWED: good'),
      expect.stringContaining('cannot write'),
    ]);
  });

  test('removes older output files before the request, so that they are not taken for its result', async () => {
    const [decision, attestation, junit] = ['d.json', 'a.json', 'g.xml'].map((name) => inFile(name, 'older'));
    const outputs = ['--output', decision!, '--attestation', attestation!, '--junit', junit!];
    const unreachable = { ...environment, COUNTERSIGN_URL: 'http://localhost:1' };
    const { status } = await gate(['--agent', 'good', '--timeout', '1s', ...outputs], { environment: unreachable });
    expect([status, existsSync(decision!), existsSync(attestation!)]).toEqual([3, false, false]);
    expect(readFileSync(junit!, 'utf8')).toContain('<error');
  });

  test('--output writes the signed decision byte for byte as the decision log stores it', async () => {
    const file = join(folder, 'decision.json');
    await gate(['--agent', 'poor', '--output', file]);
    const written = readFileSync(file, 'utf8');
    const [row] = await server.database.sql<{ document: string }>('SELECT document FROM countersign.decisions WHERE id = $1', [
      JSON.parse(written).decision_id,
    ]);
    expect(written).toBe(row!.document);
  });

  test('--agent-id is accepted with the name of its agent; with another name the gate is undecided', async () => {
    const { decision } = JSON.parse((await gate(['--agent', 'good', '--json'])).out);
    expect((await gate(['--agent', 'good', '--agent-id', decision.agent_id])).status).toBe(0);
    expect((await gate(['--agent', 'poor', '--agent-id', decision.agent_id])).status).toBe(3);
  });

  test('--harness uses only evaluations that were recorded with the same --harness', async () => {
    const record = ['evaluate', 'record', '--agent', 'harnessed', '--name', 'nightly'];
    expect((await runCli([...record, '--pass-rate', '99', '--harness', 'ours'], { environment })).status).toBe(0);
    expect((await runCli([...record, '--pass-rate', '10', '--harness', 'theirs'], { environment })).status).toBe(0);
    expect((await gate(['--agent', 'harnessed', '--harness', 'ours'])).status).toBe(0);
    expect((await gate(['--agent', 'harnessed', '--harness', 'theirs'])).status).toBe(1);
    expect((await gate(['--agent', 'harnessed', '--harness', 'nobody'])).status).toBe(1);
  });

  test('--junit writes a file without the secret of the key, even if the response contains the key', async () => {
    const file = join(folder, 'redacted.xml');
    const location = `https://sso.example/login?token=${key}`;
    const fetch = async () => new Response('', { status: 302, headers: { location } });
    expect((await gate(['--agent', 'good', '--junit', file], { fetch })).status).toBe(3);
    const text = readFileSync(file, 'utf8');
    expect([text.includes(key.split('.')[0]!), text.includes(key.split('.')[1]!)]).toEqual([true, false]);
  });

  test('--junit writes a case for each condition', async () => {
    const file = join(folder, 'gate.xml');
    await gate(['--agent', 'poor', '--junit', file]);
    const xml = readFileSync(file, 'utf8');
    const cases = ['recent_passing_evaluation', 'pass_rate', 'high_risk_approval', 'recertification'];
    expect([...xml.matchAll(/<testcase [^>]*\bname="([^"]*)"/g)].map(([, name]) => name)).toEqual(cases);
    expect(xml.match(/<failure [^>]*>/g)).toEqual([
      '<failure message="The pass rate of poor is 60 %, below the 80 % required."/>',
    ]);
  });
});

describe('gate --wait', () => {
  const review = async (agent: string, verb: 'approve' | 'reject') => {
    const { decision } = JSON.parse((await gate(['--agent', agent, '--json'])).out);
    await operate('approvals', verb, '--workspace', 'acme', '--evaluation', decision.evaluation_id, '--rationale', 'test');
  };

  /** A terminal whose sleep records the pause, runs `atPause` and does not wait. */
  const instantSleep = (atPause: (pauses: number[]) => Promise<void>): TerminalOverrides & { pauses: number[] } => {
    const pauses: number[] = [];
    return {
      pauses,
      sleep: async (ms) => {
        pauses.push(ms);
        await atPause(pauses);
      },
    };
  };

  test('allows a high-risk agent that is approved while the gate waits', async () => {
    await evaluate({ agent_name: 'patient', pass_rate: 99 });
    await operate('agents', 'risk', '--workspace', 'acme', '--agent', 'patient', 'high');
    const overrides = instantSleep(async (pauses) => {
      if (pauses.length === 3) await review('patient', 'approve');
    });
    const { status, out, err } = await gate(
      ['--agent', 'patient', '--wait', '30m', '--portal-url', 'https://portal.example.test/w/acme'],
      overrides,
    );
    expect([status, overrides.pauses]).toEqual([0, [2000, 3000, 4500]]);
    expect(out).toContain('ALLOWED');
    expect(err).toContain('waiting up to 30 min for an approval');
    expect(err).toContain(`https://portal.example.test/w/${tenantId}/approvals/`);
  });

  test('shows the address of a newer evaluation that is recorded while the gate waits, and shows each address once', async () => {
    const ids = [(await evaluate({ agent_name: 'replaced', pass_rate: 99 })).body.id];
    await operate('agents', 'risk', '--workspace', 'acme', '--agent', 'replaced', 'high');
    const overrides = instantSleep(async (pauses) => {
      if (pauses.length === 2) ids.push((await evaluate({ agent_name: 'replaced', pass_rate: 98 })).body.id);
      if (pauses.length === 4) await review('replaced', 'approve');
    });
    const { status, err } = await gate(['--agent', 'replaced', '--wait', '30m'], overrides);
    const waitingLines = [...err.matchAll(/^waiting up to 30 min for an approval of evaluation (\S+): \S+\/approvals\/(\S+)$/gm)];
    expect([status, waitingLines.map(([, evaluation, address]) => [evaluation, address])]).toEqual([
      0,
      ids.map((id) => [id, id]),
    ]);
  });

  test('ends as blocked when the evaluation is rejected while the gate waits', async () => {
    await evaluate({ agent_name: 'rejected', pass_rate: 99 });
    await operate('agents', 'risk', '--workspace', 'acme', '--agent', 'rejected', 'high');
    const overrides = instantSleep(() => review('rejected', 'reject'));
    const { status, out } = await gate(['--agent', 'rejected', '--wait', '30m'], overrides);
    expect([status, overrides.pauses.length]).toEqual([1, 1]);
    expect(out).toMatch(/BLOCKED: .*rejected/);
  });

  test('does not wait for an agent whose pass rate is too low', async () => {
    const overrides = instantSleep(async () => undefined);
    expect((await gate(['--agent', 'poor', '--wait', '30m'], overrides)).status).toBe(1);
    expect(overrides.pauses).toEqual([]);
  });

  test('ends as pending when the time of --wait is over, and no pause is longer than a minute', async () => {
    const pauses: number[] = [];
    let clock = Date.now();
    const overrides: TerminalOverrides = {
      now: () => clock,
      elapsed: () => clock,
      sleep: async (ms) => {
        pauses.push(ms);
        // Only the gate's clock moves, so that the test does not wait. --clock-skew allows the difference to the server's clock.
        clock += ms;
      },
    };
    const { status, out } = await gate(['--agent', 'risky', '--wait', '4m', '--clock-skew', '5m'], overrides);
    expect([status, out]).toEqual([4, expect.stringContaining('PENDING: risky is high-risk')]);
    expect(Math.max(...pauses)).toBe(60_000);
    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBe(240_000);
  });
});

describe('countersign process', () => {
  const run = promisify(execFile);
  const bin = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));

  test('exits with 3, and not with 1 (blocked), if an older Node cannot start the Node 24 of the checkout', async () => {
    const checkout = mkdtempSync(join(tmpdir(), 'countersign-checkout-'));
    const inCheckout = (path: string, text: string) => {
      mkdirSync(dirname(join(checkout, path)), { recursive: true });
      writeFileSync(join(checkout, path), text);
    };
    inCheckout('node_modules/node-system/bin/node', 'not executable');
    inCheckout('packages/client/src/cli/main.ts', '');
    inCheckout('packages/client/bin/countersign.mjs', readFileSync(bin, 'utf8'));
    const olderNodeScript = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`;
    const args = [
      '--import',
      `data:text/javascript,${encodeURIComponent(olderNodeScript)}`,
      join(checkout, 'packages/client/bin/countersign.mjs'),
    ];
    const { code, stderr } = await run(process.execPath, [...args, 'gate']).catch((error) => error);
    rmSync(checkout, { recursive: true });
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/^countersign: Node 24 of the checkout cannot be started: .*EACCES\n$/),
    ]);
  });

  test('exits with the status of the command, prints only data on stdout and reads the key from stdin', async () => {
    const env = { PATH: process.env.PATH, COUNTERSIGN_URL: server.url };
    const child = run(process.execPath, [bin, 'gate', '--agent', 'good', '--json', '--key-stdin'], { env });
    child.child.stdin!.end(`${key}\n`);
    const { stdout, stderr } = await child;
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'allowed', exit_code: 0 });
    expect(stderr).toBe('');
    const blocked = await run(process.execPath, [bin, 'gate', '--agent', 'poor'], {
      env: { ...env, COUNTERSIGN_API_KEY: key },
    }).catch((error) => error);
    expect(blocked.code).toBe(1);
  });
});
