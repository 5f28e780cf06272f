import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { runCli, type TerminalOverrides } from '../fixtures/run-cli.ts';
import { type StubServer, stubServer } from '../fixtures/stub-server.ts';

let server: TestServer;
let stub: StubServer;
let tenantId: string;
let foreignId: string;
let key: string;
let foreignKey: string;
let folder: string;
let trust: string;
let vkey: string;

beforeAll(async () => {
  [server, stub] = [await testServer(), await stubServer()];
  [tenantId, foreignId] = [await server.workspace('shop'), await server.workspace('other')];
  [key, foreignKey] = [await server.key(tenantId), await server.key(foreignId)];
  folder = mkdtempSync(join(tmpdir(), 'countersign-c-gate-'));
  // The agent `bot` of this workspace fails. An agent of another workspace has the same name and passes.
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 12, status: 'failing' });
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'good', pass_rate: 92.5 });
  await server.post(paths.evaluations, foreignKey, { name: 'nightly', agent_name: 'bot', pass_rate: 99 });
  vkey = await runServerCommand('signing-key', 'show', '--vkey');
  trust = writeToFile('trust.json', await runServerCommand('trust', 'show', '--workspace', 'shop'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runServerCommand(...args: string[]): Promise<string> {
  const result = await runCommand(environmentOf(server), ...args);
  if (result.status !== 0) throw new Error(result.err);
  return result.out.trim();
}
const writeToFile = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const gate = (args: string[], apiKey = key, overrides: TerminalOverrides = {}) =>
  runCli(['gate', ...args], { environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: apiKey }, ...overrides });
// biome-ignore lint/suspicious/noExplicitAny: tests change any part of the file.
const trustWith = (change: (file: any) => void): string => {
  const file = JSON.parse(readTrust());
  change(file);
  return writeToFile(`trust-${Math.random()}.json`, JSON.stringify(file));
};
const readTrust = () => readFileSync(trust, 'utf8');
/** The key of another instance, from RFC 8032. */
const foreignJwk = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  note_key: 'countersign/d7a1e6c0-3b52-4f8e-9c41-0e6b2a7f5d93+04896c43+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea',
};

describe('attack I of docs/threat-model.md: the ingestion key of another workspace with an agent of the same name', () => {
  test.each<[string, () => string[]]>([
    ['a trust file', () => ['--trust', trust]],
    ['the public key and --workspace', () => ['--verify-key', vkey, '--workspace', tenantId]],
    ['only --workspace', () => ['--workspace', tenantId]],
  ])('is rejected with %s', async (_what, args) => {
    const { status, out } = await gate(['--agent', 'bot', ...args()], foreignKey);
    expect({ status, out }).toEqual({
      status: 3,
      out: expect.stringContaining(`the decision is of workspace ${foreignId}, not of ${tenantId}`),
    });
    expect(out).toContain('COUNTERSIGN_API_KEY');
    expect((await gate(['--agent', 'bot', ...args()])).status).toBe(1);
    expect((await gate(['--agent', 'good', ...args()])).status).toBe(0);
  });

  test('is prevented: a public key without a workspace is rejected, because all workspaces share this key', async () => {
    const { status, out, err } = await gate(['--agent', 'bot', '--verify-key', vkey], foreignKey);
    expect([status, out]).toEqual([2, '']);
    expect(err).toMatch(/a public key is the same for every workspace.*--trust.*countersign-server trust show --workspace/s);
  });

  test('is rejected with a decision key, because each workspace has its own decision key', async () => {
    const decisionKey = writeToFile('decision.key', await runServerCommand('decision-key', 'show', '--workspace', 'shop'));
    const foreign = await gate(['--agent', 'bot', '--verify-key', decisionKey], foreignKey);
    expect([foreign.status, foreign.out]).toEqual([3, expect.stringContaining('the signature is not by this key')]);
    expect((await gate(['--agent', 'good', '--verify-key', decisionKey])).status).toBe(0);
  });

  test('is prevented: --trust and --workspace of different workspaces are rejected', async () => {
    const { status, err } = await gate(['--agent', 'good', '--trust', trust, '--workspace', foreignId]);
    expect([status, err]).toEqual([2, expect.stringMatching(/is of workspace .* and --workspace is/)]);
  });

  test('is rejected with a trust file from the environment, given as a path or as text', async () => {
    const withVariables = (variables: Record<string, string>) => ({
      environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: foreignKey, ...variables },
    });
    for (const variables of [{ COUNTERSIGN_TRUST_FILE: trust }, { COUNTERSIGN_TRUST: readTrust() }]) {
      const foreign = await gate(['--agent', 'bot'], foreignKey, withVariables(variables));
      expect([foreign.status, foreign.out]).toEqual([
        3,
        expect.stringContaining(`of workspace ${foreignId}, not of ${tenantId}`),
      ]);
      const ownVariables = { ...variables, COUNTERSIGN_API_KEY: key };
      expect((await gate(['--agent', 'good', '--json'], key, withVariables(ownVariables))).status).toBe(0);
    }
  });
});

describe('the gate under attack J of docs/threat-model.md (a replayed decision)', () => {
  /** Makes the stub server repeat its first response for all later requests. */
  const startReplay = () => {
    let first: { text: string; headers: Record<string, string> } | undefined;
    stub.respond = async ({ headers }, body, response) => {
      first ??= await responseTo(headers as Record<string, string>, body);
      response.writeHead(200, first.headers).end(first.text);
    };
  };
  const responseTo = async (headers: Record<string, string>, body: string) => {
    const forwarded = ['authorization', 'prefer', 'countersign-nonce'].filter((name) => headers[name] !== undefined);
    const real = await fetch(server.url + paths.promotionCheck, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...Object.fromEntries(forwarded.map((name) => [name, headers[name]!])) },
      body,
    });
    const attestation = real.headers.get('countersign-attestation');
    return {
      text: await real.text(),
      headers: {
        'content-type': 'application/json',
        ...(attestation === null ? {} : { 'countersign-attestation': attestation }),
      },
    };
  };
  const gateOnStub = (args: string[], overrides: TerminalOverrides = {}) =>
    gate(args, key, { environment: { COUNTERSIGN_URL: stub.url, COUNTERSIGN_API_KEY: key }, ...overrides });

  test('rejects a replay within the 60 seconds of --clock-skew', async () => {
    startReplay();
    expect((await gateOnStub(['--agent', 'good', '--trust', trust])).status).toBe(0);
    const replayed = await gateOnStub(['--agent', 'good', '--trust', trust]);
    expect([replayed.status, replayed.out]).toEqual([3, expect.stringMatching(/nonce of another request.*replayed/)]);
  });

  test('rejects a replay during --wait, because each request has its own nonce', async () => {
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'risky', pass_rate: 99 });
    await runServerCommand('agents', 'risk', '--workspace', 'shop', '--agent', 'risky', 'high');
    startReplay();
    const { status, out } = await gateOnStub(['--agent', 'risky', '--trust', trust, '--wait', '1m'], {
      sleep: async () => undefined,
    });
    expect([status, out]).toEqual([3, expect.stringContaining('nonce')]);
  });

  test('rejects a response without the nonce and suggests an update of the server', async () => {
    stub.respond = async ({ headers }, body, response) => {
      const { 'countersign-nonce': _, ...older } = headers as Record<string, string>;
      const { text, headers: responseHeaders } = await responseTo(older, body);
      response.writeHead(200, responseHeaders).end(text);
    };
    const { status, out } = await gateOnStub(['--agent', 'good', '--trust', trust]);
    expect([status, out]).toEqual([3, expect.stringMatching(/does not repeat the nonce.*update the server/)]);
  });

  test.each(['5m1s', '301s', '6m', '24h'])('rejects --clock-skew %s', async (skew) => {
    const { status, err } = await gate(['--agent', 'good', '--trust', trust, '--clock-skew', skew]);
    expect([status, err]).toEqual([2, expect.stringContaining('--clock-skew')]);
  });

  test('accepts --clock-skew 5m', async () => {
    expect((await gate(['--agent', 'good', '--trust', trust, '--clock-skew', '5m'])).status).toBe(0);
  });
});

describe('trust file', () => {
  test('contains the workspace, the public keys and the URL of the service', async () => {
    expect(JSON.parse(readTrust())).toEqual({
      version: 1,
      workspace: { id: tenantId, name: 'shop' },
      url: expect.stringMatching(/^https?:/),
      keys: [expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', note_key: vkey })],
    });
  });

  test.each<[string, () => string, RegExp]>([
    ['not JSON', () => writeToFile('a', 'hello'), /is not a trust file: it is not JSON/],
    ['empty', () => writeToFile('b', ''), /is not a trust file: it is empty/],
    ['a JWKS', () => writeToFile('c', JSON.stringify({ keys: JSON.parse(readTrust()).keys })), /is a JWKS.*--verify-key/],
    ['a verifier key', () => writeToFile('d', vkey), /is not a trust file: it is not JSON/],
    ['another JSON value', () => writeToFile('e', '[]'), /is not a trust file/],
    ['a later version', () => trustWith((file) => (file.version = 2)), /version 2.*newer/],
    ['without a workspace', () => trustWith((file) => delete file.workspace), /workspace/],
    ['with a malformed workspace ID', () => trustWith((file) => (file.workspace.id = 'shop')), /workspace/],
    ['with a malformed key', () => trustWith((file) => (file.keys[0].x = 'AAAA')), /key/],
    ['without keys', () => trustWith((file) => (file.keys = [])), /no key/],
    [
      'without a live key',
      () => trustWith((file) => (file.keys[0].retired_at = '2026-01-01T00:00:00.000Z')),
      /no live key.*retired.*trust show/,
    ],
    ['missing', () => join(folder, 'nosuch.json'), /cannot read/],
  ])('is rejected with exit code 2 before any request: %s', async (_what, file, why) => {
    const noFetch = (() => {
      throw new Error('something was sent');
    }) as typeof fetch;
    const { status, out, err } = await gate(['--agent', 'good', '--trust', file()], key, { fetch: noFetch });
    expect([status, out, err]).toEqual([2, '', expect.stringMatching(why)]);
  });

  test('is rejected as --verify-key, and may contain an empty list of successors', async () => {
    const wrong = await gate(['--agent', 'good', '--verify-key', trust]);
    expect([wrong.status, wrong.err]).toEqual([2, expect.stringContaining('is a trust file; give it as --trust')]);
    const withEmptySuccessors = trustWith((file) => (file.successors = []));
    expect((await gate(['--agent', 'good', '--trust', withEmptySuccessors])).status).toBe(0);
  });

  test('of another instance makes the gate exit with 3 and name the cause', async () => {
    const foreign = trustWith((file) => (file.keys = [foreignJwk]));
    const { status, out } = await gate(['--agent', 'good', '--trust', foreign]);
    expect([status, out]).toEqual([3, expect.stringMatching(/the trust file is of another instance/)]);
  });

  test('makes the gate exit with 3 and suggest a new file if its key was retired and has not signed the decision', async () => {
    // The stub server lists the key of the file as retired, and its attestation is not signed by that key.
    stub.respond = async ({ url }, _body, response) => {
      const keys = JSON.parse(readTrust()).keys;
      if (url === '/.well-known/jwks.json')
        return void response
          .writeHead(200)
          .end(JSON.stringify({ keys: [{ ...keys[0], retired_at: '2026-11-20T00:00:00.000Z' }] }));
      const real = await fetch(server.url + paths.promotionCheck, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          'countersign-nonce': nonceSent,
        },
        body: '{"agent_name":"good"}',
      });
      const text = await real.text();
      response
        .writeHead(200, {
          'content-type': 'application/json',
          'countersign-attestation': `"${'A'.repeat(43)}";sig=:${'A'.repeat(86)}==:`,
        })
        .end(text);
    };
    let nonceSent = '';
    const observed = ((url: string, request: RequestInit) => {
      nonceSent = (request.headers as Record<string, string> | undefined)?.['countersign-nonce'] ?? nonceSent;
      return fetch(url, request);
    }) as typeof fetch;
    const { status, out } = await gate(['--agent', 'good', '--trust', trust], key, {
      environment: { COUNTERSIGN_URL: stub.url, COUNTERSIGN_API_KEY: key },
      fetch: observed,
    });
    expect([status, out]).toEqual([3, expect.stringMatching(/retired.*trust show --workspace/s)]);
  });
});

describe('keys that are given beside a trust file', () => {
  /** Writes a trust file of this workspace with the key of another instance, and returns its path. */
  const trustFileWithForeignKey = () => trustWith((file) => (file.keys = [foreignJwk]));
  const environment = (variables: Record<string, string>) => ({
    environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key, ...variables },
  });
  const variables: [string, () => string][] = [
    ['COUNTERSIGN_VERIFY_KEY', () => vkey],
    ['COUNTERSIGN_VERIFY_KEY_FILE', () => writeToFile('instance.vkey', vkey)],
  ];
  let commands: string[][];
  beforeAll(async () => {
    const [attestation, rows, checkpoint] = ['kept-attestation.json', 'kept.ndjson', 'kept.checkpoint'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    expect((await gate(['--agent', 'good', '--attestation', attestation])).status).toBe(0);
    await runServerCommand('ledger', 'export', '--workspace', 'shop', '--output', rows);
    writeFileSync(checkpoint, `${await runServerCommand('ledger', 'checkpoint', '--workspace', 'shop')}\n`);
    commands = [
      ['gate', '--agent', 'good'],
      ['verify', 'decision', attestation, '--allowed'],
      ['verify', 'ledger', rows, '--checkpoint', checkpoint],
      ['doctor'],
    ];
  });

  test.each(variables)('%s is not trusted by any command, and a warning names it', async (name, value) => {
    const results = [];
    for (const command of commands) {
      const { status, err } = await runCli([...command, '--trust', trustFileWithForeignKey()], environment({ [name]: value() }));
      results.push({ status, err });
    }
    const err = expect.stringMatching(new RegExp(`^warning: ${name} is ignored, .*trust-.*\\n$`));
    expect(results).toEqual([3, 1, 1, 1].map((status) => ({ status, err })));
  });

  test('a variable with a missing file or an invalid key does not stop a command', async () => {
    const given = environment({ COUNTERSIGN_VERIFY_KEY: 'hello', COUNTERSIGN_VERIFY_KEY_FILE: join(folder, 'nosuch.key') });
    for (const command of commands) {
      const { status, out, err } = await runCli([...command, '--trust', trust, '--json'], given);
      expect([status, err]).toEqual([
        0,
        expect.stringMatching(/^warning: COUNTERSIGN_VERIFY_KEY_FILE and COUNTERSIGN_VERIFY_KEY are ignored, [^\n]*\n$/),
      ]);
      expect(JSON.parse(out)).toBeTypeOf('object');
    }
  });

  test('--verify-key is a usage error, and doctor reports it as a failed check', async () => {
    for (const [args, variables] of [
      [['--trust', trust], {}],
      [[], { COUNTERSIGN_TRUST: readTrust() }],
    ] as const)
      for (const command of commands) {
        const { status, out, err } = await runCli([...command, ...args, '--verify-key', vkey], environment(variables));
        expect([status, out + err]).toEqual([
          command[0] === 'doctor' ? 1 : 2,
          expect.stringMatching(/--verify-key .*cannot be combined.*give only the trust file or only --verify-key/s),
        ]);
      }
  });
});

describe('trust file in other commands', () => {
  const environment = () => ({ COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key });

  test('is used by `verify decision` to check the workspace of an attestation, with and without --evidence', async () => {
    const [attestation, decision] = [join(folder, 'attestation.json'), join(folder, 'decision.json')];
    expect((await gate(['--agent', 'good', '--trust', trust, '--attestation', attestation, '--output', decision])).status).toBe(
      0,
    );
    const verify = (...args: string[]) => runCli(['verify', 'decision', ...args]);
    expect((await verify(attestation, '--trust', trust)).status).toBe(0);
    const other = writeToFile('other.json', await runServerCommand('trust', 'show', '--workspace', 'other'));
    const rejected = await verify(attestation, '--trust', other);
    expect([rejected.status, rejected.out]).toEqual([1, expect.stringContaining(`of workspace ${tenantId}`)]);
    expect((await verify(attestation, '--verify-key', vkey)).status).toBe(0);
    const wrong = await verify(attestation, '--verify-key', vkey, '--workspace', foreignId);
    expect([wrong.status, wrong.out]).toEqual([1, expect.stringContaining(`of workspace ${tenantId}`)]);

    const { decision_id: id } = JSON.parse(readFileSync(decision, 'utf8'));
    const [row] = await server.database.sql<{ evidence: string }>('SELECT evidence FROM countersign.decisions WHERE id = $1', [
      id,
    ]);
    const evidence = writeToFile('evidence.json', row!.evidence);
    const checked = await verify(attestation, '--trust', trust, '--evidence', evidence);
    expect([checked.status, checked.out]).toEqual([0, expect.stringContaining('the evidence supports the verdict')]);
    const altered = writeToFile('altered.json', row!.evidence.replace('92.5', '99'));
    const fault = await verify(attestation, '--trust', trust, '--evidence', altered);
    expect([fault.status, fault.out]).toEqual([1, expect.stringContaining('the evidence hashes to')]);
  });

  test('is accepted by doctor and verify ledger; verify ledger rejects a trust file of another workspace', async () => {
    const rows = writeToFile(
      'shop.ndjson',
      await runServerCommand('ledger', 'export', '--workspace', 'shop').then((text) => `${text}\n`),
    );
    expect((await runCli(['verify', 'ledger', rows, '--trust', trust])).status).toBe(0);
    const other = writeToFile('other-2.json', await runServerCommand('trust', 'show', '--workspace', 'other'));
    const rejected = await runCli(['verify', 'ledger', rows, '--trust', other]);
    expect([rejected.status, rejected.out]).toEqual([1, expect.stringContaining(`tenant_id is not ${foreignId}`)]);
    const doctor = (args: string[]) => runCli(['doctor', ...args], { environment: environment() });
    const healthy = await doctor(['--trust', trust]);
    expect([healthy.status, healthy.out]).toEqual([
      0,
      expect.stringMatching(/ok +verify key +matches a signing key of this service/),
    ]);
    const unhealthy = await doctor(['--verify-key', vkey]);
    expect([unhealthy.status, unhealthy.out]).toEqual([1, expect.stringContaining('--workspace')]);
  });
});
