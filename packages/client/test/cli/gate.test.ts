import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { runCli, type World } from '../fixtures/run-cli.ts';

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
  const ran = await runCommand(environmentOf(server), ...args);
  if (ran.status !== 0) throw new Error(ran.err);
  return ran.out.trim();
};
const evaluate = (body: object) => server.post(paths.evaluations, key, { name: 'nightly', ...body });
const gate = (args: string[], world: World = {}) => runCli(['gate', ...args], { environment, ...world });
const inFile = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('gate, against the real server', () => {
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
    ['an agent that nobody knows', ['--agent', 'nobody'], 1, 'BLOCKED: No agent nobody is known here'],
    ['an approval that is pending', ['--agent', 'risky'], 4, 'PENDING: risky is high-risk'],
  ])('%s', async (_outcome, args, status, line) => {
    const text = await gate(args);
    expect({ status: text.status, err: text.err }).toEqual({ status, err: '' });
    expect(text.out).toContain(line);
    const json = await gate([...args, '--json']);
    expect([json.status, json.err]).toEqual([status, '']);
    expect(JSON.parse(json.out)).toMatchObject({ exit_code: status, decision: { allowed: status === 0 }, verified_by: null });
  });

  test('the attestation that it writes is checked later with the public key alone, and is of the decision that was written', async () => {
    const vkey = inFile('instance.vkey', await operate('signing-key', 'show', '--vkey'));
    const [decision, attestation] = [join(folder, 'kept.json'), join(folder, 'attestation.json')];
    for (const withKey of [['--verify-key', vkey, '--workspace', tenantId], []]) {
      const asked = await gate(['--agent', 'good', '--output', decision, '--attestation', attestation, ...withKey]);
      expect([asked.status, asked.err]).toEqual([0, '']);
      const checked = await runCli(['verify', 'decision', attestation, '--verify-key', vkey, '--json'], { environment });
      expect(checked.status).toBe(0);
      expect(JSON.parse(checked.out).decision).toEqual(JSON.parse(readFileSync(decision, 'utf8')));
    }
    const [wrote] = readFileSync(attestation, 'utf8').split('\n');
    writeFileSync(attestation, wrote!.replace('"payload":"ey', '"payload":"eX'));
    expect((await runCli(['verify', 'decision', attestation, '--verify-key', vkey], { environment })).status).toBe(1);
  });

  test('the decision key of the workspace verifies; another key makes it undecided', async () => {
    const right = inFile('right.key', await operate('decision-key', 'show', '--workspace', 'acme'));
    const wrong = inFile('wrong.key', 'ab'.repeat(32));
    const good = await gate(['--agent', 'good', '--verify-key', right, '--json']);
    expect([good.status, JSON.parse(good.out).verified_by]).toEqual([0, expect.stringMatching(/^decision key dk_/)]);
    expect((await gate(['--agent', 'good', '--verify-key', wrong])).status).toBe(3);
    expect((await gate(['--agent', 'good', '--verify-key', wrong, '--verify-key', right])).status).toBe(0);
    const byVariable = { ...environment, COUNTERSIGN_VERIFY_KEY: 'ab'.repeat(32) };
    const { status, out, err } = await gate(['--agent', 'good'], { environment: byVariable });
    expect([status, out]).toEqual([3, expect.stringContaining('the signature is not of this key')]);
    expect(out + err).not.toContain('abab');
  });

  test("the instance's public key verifies without any shared secret, as a verifier key, in a file, and as a JWKS", async () => {
    const vkey = await operate('signing-key', 'show', '--vkey');
    const jwks = inFile('jwks.json', await (await fetch(`${server.url}/.well-known/jwks.json`)).text());
    for (const given of [vkey, inFile('instance.vkey', `${vkey}\n`), jwks]) {
      const { status, out } = await gate(['--agent', 'good', '--verify-key', given, '--workspace', tenantId, '--json']);
      expect([status, JSON.parse(out).verified_by]).toEqual([0, 'the public key of the instance']);
    }
    const ended = JSON.parse(readFileSync(jwks, 'utf8'));
    ended.keys[0].retired_at = '2020-01-01T00:00:00.000Z';
    expect(
      (await gate(['--agent', 'good', '--workspace', tenantId, '--verify-key', inFile('ended.json', JSON.stringify(ended))]))
        .status,
    ).toBe(3);
    const other = 'countersign/d7a1e6c0-3b52-4f8e-9c41-0e6b2a7f5d93+04896c43+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
    expect((await gate(['--agent', 'good', '--workspace', tenantId, '--verify-key', other])).status).toBe(3);
  });

  test('a file that cannot be written is refused before anything is asked, and the verdict is printed before any is written', async () => {
    const asked = () => server.database.sql('SELECT count(*) FROM countersign.decisions');
    const before = await asked();
    for (const option of ['--output', '--attestation', '--junit'])
      for (const path of [join(folder, 'nosuch', 'x'), folder]) {
        const { status, out, err } = await gate(['--agent', 'good', option, path]);
        expect([status, out, err]).toEqual([2, '', expect.stringMatching(/^countersign: cannot write /)]);
      }
    expect(await asked()).toEqual(before);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);

    const place = join(folder, 'going');
    mkdirSync(place);
    const fetchAndSpoil: typeof fetch = (...call) => {
      rmSync(place, { recursive: true });
      return fetch(...call);
    };
    const spoilt = await gate(['--agent', 'good', '--output', join(place, 'x')], { fetch: fetchAndSpoil });
    expect([spoilt.status, spoilt.out, spoilt.err]).toEqual([
      2,
      expect.stringContaining('ALLOWED: good'),
      expect.stringContaining('cannot write'),
    ]);
  });

  test('--output holds the signed decision byte for byte, as the ledger of decisions has it', async () => {
    const file = join(folder, 'decision.json');
    await gate(['--agent', 'poor', '--output', file]);
    const written = readFileSync(file, 'utf8');
    const [kept] = await server.database.sql<{ document: string }>('SELECT document FROM countersign.decisions WHERE id = $1', [
      JSON.parse(written).decision_id,
    ]);
    expect(written).toBe(kept!.document);
  });

  test('an agent-id pins the agent; together with a name of another one it is refused', async () => {
    const { decision } = JSON.parse((await gate(['--agent', 'good', '--json'])).out);
    expect((await gate(['--agent', 'good', '--agent-id', decision.agent_id])).status).toBe(0);
    expect((await gate(['--agent', 'poor', '--agent-id', decision.agent_id])).status).toBe(3);
  });

  test('a harness is asked for by the name that recording it used', async () => {
    const record = ['evaluate', 'record', '--agent', 'harnessed', '--name', 'nightly'];
    expect((await runCli([...record, '--pass-rate', '99', '--harness', 'ours'], { environment })).status).toBe(0);
    expect((await runCli([...record, '--pass-rate', '10', '--harness', 'theirs'], { environment })).status).toBe(0);
    expect((await gate(['--agent', 'harnessed', '--harness', 'ours'])).status).toBe(0);
    expect((await gate(['--agent', 'harnessed', '--harness', 'theirs'])).status).toBe(1);
    expect((await gate(['--agent', 'harnessed', '--harness', 'nobody'])).status).toBe(1);
  });

  test('JUnit has a case for each condition', async () => {
    const file = join(folder, 'gate.xml');
    await gate(['--agent', 'poor', '--junit', file]);
    const xml = readFileSync(file, 'utf8');
    expect(xml.match(/<testcase /g)).toHaveLength(4);
    expect(xml).toContain('<failure message="The pass rate of poor is 60 %, below the 80 % required."/>');
  });
});

describe('gate --wait', () => {
  const approve = async (agent: string, verb: 'approve' | 'reject') => {
    const { decision } = JSON.parse((await gate(['--agent', agent, '--json'])).out);
    await operate('approvals', verb, '--workspace', 'acme', '--evaluation', decision.evaluation_id, '--rationale', 'test');
  };

  /** A clock that runs as fast as a test wants: sleeping moves it. */
  const fastClock = (atPause: (pauses: number[]) => Promise<void>): World & { pauses: number[] } => {
    const pauses: number[] = [];
    let slept = 0;
    return {
      pauses,
      now: () => Date.now() + slept * 0,
      sleep: async (ms) => {
        slept += ms;
        pauses.push(ms);
        await atPause(pauses);
      },
    };
  };

  test('a high-risk agent is pending, is approved meanwhile, and the waiting gate lets it pass', async () => {
    await evaluate({ agent_name: 'patient', pass_rate: 99 });
    await operate('agents', 'risk', '--workspace', 'acme', '--agent', 'patient', 'high');
    const world = fastClock(async (pauses) => {
      if (pauses.length === 3) await approve('patient', 'approve');
    });
    const { status, out, err } = await gate(
      ['--agent', 'patient', '--wait', '30m', '--portal-url', 'https://portal.example.test/w/acme'],
      world,
    );
    expect([status, world.pauses]).toEqual([0, [2000, 3000, 4500]]);
    expect(out).toContain('ALLOWED');
    expect(err).toContain('waiting up to 30 min for an approval');
    expect(err).toContain(`https://portal.example.test/w/${tenantId}/approvals/`);
  });

  test('a rejection meanwhile ends the waiting as blocked', async () => {
    await evaluate({ agent_name: 'rejected', pass_rate: 99 });
    await operate('agents', 'risk', '--workspace', 'acme', '--agent', 'rejected', 'high');
    const { status } = await gate(
      ['--agent', 'rejected', '--wait', '30m'],
      fastClock(() => approve('rejected', 'reject')),
    );
    expect(status).toBe(1);
  });

  test('what an approval cannot mend is not waited for', async () => {
    const world = fastClock(async () => undefined);
    expect((await gate(['--agent', 'poor', '--wait', '30m'], world)).status).toBe(1);
    expect(world.pauses).toEqual([]);
  });

  test('when the time is up it is still pending, and pauses never grow beyond a minute', async () => {
    const pauses: number[] = [];
    let clock = Date.now();
    const world: World = {
      now: () => clock,
      sleep: async (ms) => {
        pauses.push(ms);
        // Half a millisecond a second: the service's clock must not seem far away, and the test must not wait.
        clock += ms;
      },
    };
    const { status } = await gate(['--agent', 'risky', '--wait', '4m', '--clock-skew', '5m'], world);
    expect(status).toBe(4);
    expect(Math.max(...pauses)).toBe(60_000);
    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBe(240_000);
  });
});

describe('the process countersign', () => {
  const run = promisify(execFile);
  const bin = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));

  test('ends with the status, keeps data on stdout and takes the key on stdin', async () => {
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
