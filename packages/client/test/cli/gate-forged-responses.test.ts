import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signDecision } from '@countersign/core/domain/decision-signature';
import { beforeAll, describe, expect, test } from 'vitest';
import { digests } from '../../../server/src/crypto/digests.ts';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { setEvaluationTime } from '../../../server/test/harness/backdate.ts';
import { paths, type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { harnessIdOf } from '../../src/importers/harness-id.ts';
import { runCli, type TerminalOverrides } from '../fixtures/run-cli.ts';
import { type ResponseHandler, respondWith, type StubServer, stubServer } from '../fixtures/stub-server.ts';

let server: TestServer;
let stub: StubServer;
let key: string;
let environment: Record<string, string>;
let decisionKey: string;

beforeAll(async () => {
  [server, stub] = [await testServer(), await stubServer()];
  key = await server.key(await server.workspace('acme'));
  decisionKey = (await runCommand(environmentOf(server), 'decision-key', 'show', '--workspace', 'acme')).out.trim();
  environment = { COUNTERSIGN_URL: stub.url, COUNTERSIGN_API_KEY: key, COUNTERSIGN_VERIFY_KEY: decisionKey };
  for (const agent_name of ['good', 'poor', 'stale'])
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name, pass_rate: agent_name === 'poor' ? 60 : 92.5 });
  await setEvaluationTime(server, 'stale', `recorded_at - interval '5 hours'`);
});

/** Forwards the request to the real server and changes the response. `changeRequest` can change the body of the request. */
const forward =
  (change: (decision: string) => string, changeRequest: (body: object) => object = (body) => body): ResponseHandler =>
  async ({ headers, method }: IncomingMessage, body, response) => {
    // The gate reads the public keys to explain a rejection. The stub server publishes none.
    if (method === 'GET') return void response.writeHead(404).end();
    const real = await fetch(server.url + paths.promotionCheck, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: headers.authorization!,
        prefer: String(headers.prefer ?? ''),
        'countersign-nonce': String(headers['countersign-nonce']),
      },
      body: JSON.stringify(changeRequest(JSON.parse(body))),
    });
    const attestation = real.headers.get('countersign-attestation');
    response.writeHead(real.status, {
      'content-type': 'application/json',
      ...(attestation === null ? {} : { 'countersign-attestation': attestation }),
    });
    response.end(change(await real.text()));
  };

/** Responds with the real decision after a change, signed again with the decision key of the workspace. */
const resignedDecision = (change: (decision: Record<string, unknown>) => void): ResponseHandler =>
  forward((text) => {
    const { response_sha256: _digest, signature: _signature, signature_alg: _alg, ...decision } = JSON.parse(text);
    change(decision);
    return JSON.stringify(signDecision(decision, Buffer.from(decisionKey, 'hex'), digests));
  });

/** Responds with the real decision after a change. */
const alteredDecision = (change: (decision: Record<string, unknown>) => void): ResponseHandler =>
  forward((text) => {
    const decision = JSON.parse(text);
    change(decision);
    return JSON.stringify(decision);
  });

const gate = (args: readonly string[], overrides: TerminalOverrides = {}) =>
  runCli(['gate', ...args], { environment, ...overrides });

/** Runs the gate with text output and with JSON output. Expects it to be undecided both times. The text must match `why`. */
async function expectUndecided(
  respond: ResponseHandler,
  why: string | RegExp,
  args: readonly string[] = ['--agent', 'good'],
  overrides: TerminalOverrides = {},
): Promise<void> {
  stub.respond = respond;
  const text = await gate(args, overrides);
  expect({ status: text.status, out: text.out }).toEqual({
    status: 3,
    out: expect.stringMatching(/^UNDECIDED: no decision: .*`countersign doctor`/s),
  });
  expect(text.out).toMatch(why);
  stub.respond = respond;
  const json = await gate([...args, '--json'], overrides);
  expect(json.status).toBe(3);
  expect(JSON.parse(json.out)).toMatchObject({ outcome: 'undecided', exit_code: 3, decision: null });
}

describe('gate with forged responses', () => {
  test('accepts unchanged responses, as a control for the tests below', async () => {
    stub.respond = forward((text) => text);
    expect((await gate(['--agent', 'good'])).status).toBe(0);
    expect((await gate(['--agent', 'poor'])).status).toBe(1);
  });

  test.each([
    ['a key name is a number', { keys: [{ x: 'a', note_key: 7 }] }],
    ['a key name is null', { keys: [{ x: 'a', note_key: null }] }],
    ['a time is an object', { keys: [{ x: 'a', note_key: 'b', retired_at: { at: 1 } }] }],
    ['`keys` is an object', { keys: {} }],
    ['the document is null', null],
  ])('is undecided if the attestation is missing and the published keys are malformed: %s', async (_what, published) => {
    const trust = (await runCommand(environmentOf(server), 'trust', 'show', '--workspace', 'acme')).out;
    const respond: ResponseHandler = async (request, body, response) => {
      if (request.method === 'GET') return respondWith(JSON.stringify(published))(request, body, response);
      request.headers.prefer = '';
      await forward((text) => text)(request, body, response);
    };
    const variables = { COUNTERSIGN_URL: stub.url, COUNTERSIGN_API_KEY: key, COUNTERSIGN_TRUST: trust };
    await expectUndecided(respond, /the signature was rejected/, ['--agent', 'good'], { environment: variables });
  });

  test.each<[string, (decision: Record<string, unknown>) => void, RegExp]>([
    ['allowed set to true', (decision) => (decision.allowed = true), /altered/],
    ['another reason', (decision) => (decision.reason = 'all_conditions_met'), /altered/],
    ['another signature', (decision) => (decision.signature = 'ab'.repeat(32)), /not by this key/],
    ['another algorithm', (decision) => (decision.signature_alg = 'none'), /signature_alg/],
    ['a missing member', (decision) => delete decision.checks, /checks is missing/],
    ['missing conditions', (decision) => (decision.checks = []), /checks/],
    ['allowed as a string', (decision) => (decision.allowed = 'true'), /allowed|not Countersign/],
    ['another policy', (decision) => (decision.policy = 'anything-goes/v9'), /altered/],
  ])('rejects an altered decision: %s', (_what, change, why) =>
    expectUndecided(alteredDecision(change), why, ['--agent', 'poor']),
  );

  test('accepts a decision that was signed again without a change, as a control for the next tests', async () => {
    stub.respond = resignedDecision(() => undefined);
    expect((await gate(['--agent', 'good'])).status).toBe(0);
  });

  test.each<[string, (decision: Record<string, unknown>) => void, RegExp]>([
    [
      'another policy',
      (decision) => (decision.policy = 'anything-goes/v9'),
      /its policy is anything-goes\/v9; this version .* supports only/,
    ],
    ['allowed set to true', (decision) => (decision.allowed = true), /it says allowed: true, but its conditions contradict that/],
    [
      'another reason',
      (decision) => (decision.reason = 'approval_required'),
      /its reason is approval_required, but its conditions give/,
    ],
    [
      'another pass rate',
      (decision) => (decision.actual_threshold = 99),
      /its members about the evaluation contradict each other/,
    ],
    ['a missing condition', (decision) => (decision.checks as unknown[]).pop(), /checks is invalid/],
  ])('rejects an unsupported or contradictory decision although its signature is valid: %s', (_what, change, why) =>
    expectUndecided(resignedDecision(change), why, ['--agent', 'poor']),
  );

  test('rejects a replayed old decision', async () => {
    let old = '';
    stub.respond = forward((text) => (old = text));
    expect((await gate(['--agent', 'good'])).status).toBe(0);
    await expectUndecided((...call) => respondWith(old)(...call), /an old decision/, ['--agent', 'good'], {
      now: () => Date.now() + 120_000,
    });
  });

  test('rejects a decision from the future unless --clock-skew allows it', async () => {
    const behind = { now: () => Date.now() - 240_000 };
    await expectUndecided(
      forward((text) => text),
      /after it arrived/,
      ['--agent', 'good'],
      behind,
    );
    expect((await gate(['--agent', 'good', '--clock-skew', '5m'], behind)).status).toBe(0);
  });

  test('rejects a response to an earlier attempt of the same request that was held back', async () => {
    const nonces: unknown[] = [];
    let first = '';
    const holdBack: ResponseHandler = async (request, body, response) => {
      if (request.method === 'POST') nonces.push(request.headers['countersign-nonce']);
      if (nonces.length > 1) return respondWith(first)(request, body, response);
      await forward((text) => {
        first = text;
        return '';
      })(request, body, response);
    };
    stub.respond = holdBack;
    const { status, out } = await gate(['--agent', 'good']);
    expect([status, out]).toEqual([3, expect.stringMatching(/nonce of another request/)]);
    expect(new Set(nonces).size).toBe(2);
  });

  test('compares the time of a decision with the time of the attempt that received it', async () => {
    let attempts = 0;
    // The clock of this machine jumps between the attempts, so the decision is too old for the second attempt only.
    stub.respond = async (request, body, response) => {
      attempts += request.method === 'POST' ? 1 : 0;
      if (attempts === 1) return respondWith('', 503)(request, body, response);
      await forward((text) => text)(request, body, response);
    };
    const startedAt = Date.now();
    const now = () => (attempts === 0 ? startedAt : startedAt + 120_000);
    const { status, out } = await gate(['--agent', 'good'], { now });
    expect([status, out]).toEqual([3, expect.stringMatching(/1[12]\d s before the request: it is an old decision/)]);
  });

  test('rejects a decision that is repeated while the gate waits', async () => {
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'risky', pass_rate: 99 });
    await runCommand(environmentOf(server), 'agents', 'risk', '--workspace', 'acme', '--agent', 'risky', 'high');
    let first = '';
    const replay: ResponseHandler = (...call) =>
      first === '' ? forward((text) => (first = text))(...call) : respondWith(first)(...call);
    const args = ['--agent', 'risky', '--wait', '1m'];
    stub.respond = replay;
    const { status, out } = await gate(args, { sleep: async () => undefined });
    expect([status, out]).toEqual([3, expect.stringMatching(/nonce of another request/)]);
  });

  test('rejects a genuine new decision about another agent', () =>
    expectUndecided(
      forward(
        (text) => text,
        (body) => ({ ...body, agent_name: 'good' }),
      ),
      /it is about agent good, but poor was requested/,
      ['--agent', 'poor'],
    ));

  test('rejects a decision about another agent if the request has only an agent ID', () =>
    expectUndecided(
      forward(
        (text) => text,
        ({ agent_id: _, ...body }: { agent_id?: string }) => ({ ...body, agent_name: 'good' }),
      ),
      /it is about agent/,
      ['--agent-id', '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f'],
    ));

  test('rejects a decision whose threshold, age of the evaluation or harness does not match the request', async () => {
    await expectUndecided(
      forward(
        (text) => text,
        (body) => ({ ...body, min_pass_rate: 1 }),
      ),
      /about a threshold of 1 %, but 80 % was requested/,
      ['--agent', 'poor'],
    );
    await expectUndecided(
      forward(
        (text) => text,
        (body) => ({ ...body, max_age_hours: 100 }),
      ),
      /with a maximum age of 100 hours, but 1 was requested/,
      ['--agent', 'stale', '--max-age-hours', '1'],
    );
    await expectUndecided(
      forward(
        (text) => text,
        ({ harness_id: _, ...body }: { harness_id?: string }) => body,
      ),
      /it is about any harness, but the harness .* was requested/,
      ['--agent', 'good', '--harness', 'ours'],
    );
  });

  /** Responds with the real decision on a request that a proxy has changed. */
  const changedRequest = (members: object): ResponseHandler =>
    forward(
      (text) => text,
      (body) => ({ ...body, ...members }),
    );

  test('rejects a decision on the last evaluation of a harness that the gate did not name', async () => {
    const ours = harnessIdOf('ours');
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'regressed', pass_rate: 99, harness_id: ours });
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'regressed', pass_rate: 10 });
    const why = new RegExp(`it is about the harness ${ours}, but any harness was requested`);
    await expectUndecided(changedRequest({ harness_id: ours }), why, ['--agent', 'regressed']);
    await expectUndecided(changedRequest({ harness_id: ours }), why, ['--agent', 'poor']);
    await expectUndecided(changedRequest({ harness_id: null }), /it is about any harness, but the harness .* was requested/, [
      '--agent',
      'nobody',
      '--harness',
      'ours',
    ]);
  });

  test('rejects an allowed and a blocked decision with another maximum age than requested', async () => {
    for (const agent of ['good', 'poor'])
      await expectUndecided(changedRequest({ max_age_hours: 100 }), /with a maximum age of 100 hours, but 72 was requested/, [
        '--agent',
        agent,
      ]);
  });

  test.each(['harness_id', 'max_age_hours'])('rejects a decision without %s and suggests an update of the server', (member) =>
    expectUndecided(
      resignedDecision((decision) => delete decision[member]),
      /it does not state the requested harness and maximum age: an older server made it; update the server/,
      ['--agent', 'poor'],
    ),
  );

  test('rejects a decision that was signed with the key of another workspace', async () => {
    const foreign = await server.key(await server.workspace('other'));
    await server.post(paths.evaluations, foreign, { name: 'nightly', agent_name: 'good', pass_rate: 99 });
    const asForeign: ResponseHandler = (request, ...call) => {
      request.headers.authorization = `Bearer ${foreign}`;
      return forward((text) => text)(request, ...call);
    };
    await expectUndecided(asForeign, /not by this key/);
  });

  test('rejects a missing attestation and an attestation of another decision', async () => {
    const trust = (await runCommand(environmentOf(server), 'trust', 'show', '--workspace', 'acme')).out;
    const overrides = { environment: { ...environment, COUNTERSIGN_VERIFY_KEY: '', COUNTERSIGN_TRUST: trust } };
    const prefer = { prefer: 'countersign-attestation' };
    const earlierAttestation = (await server.post(paths.promotionCheck, key, { agent_name: 'good' }, prefer)).headers.get(
      'countersign-attestation',
    )!;
    stub.respond = forward((text) => text);
    expect((await gate(['--agent', 'good'], overrides)).status).toBe(0);
    const without: ResponseHandler = (request, ...call) => {
      delete request.headers.prefer;
      return forward((text) => text)(request, ...call);
    };
    await expectUndecided(without, /has no attestation/, ['--agent', 'good'], overrides);
    // Every gate with the decision key could have signed the decision.
    const both = { environment: { ...environment, COUNTERSIGN_TRUST: trust } };
    await expectUndecided(without, /has no attestation/, ['--agent', 'good'], both);
    const unwritten = join(tmpdir(), `countersign-never-${process.pid}.json`);
    await expectUndecided(without, /which --attestation needs/, ['--agent', 'good', '--attestation', unwritten]);
    expect(existsSync(unwritten)).toBe(false);
    const stale: ResponseHandler = async (request, body, response) => {
      const head = response.writeHead.bind(response);
      const headers = { 'content-type': 'application/json', 'countersign-attestation': earlierAttestation };
      response.writeHead = ((status: number) => head(status, headers)) as never;
      await forward((text) => text)(request, body, response);
    };
    await expectUndecided(stale, /none of the known keys has signed it/, ['--agent', 'good'], overrides);
  });

  test('requires the attestation if a public key is given beside the decision key', async () => {
    const trust = JSON.parse((await runCommand(environmentOf(server), 'trust', 'show', '--workspace', 'acme')).out);
    const args = ['--agent', 'good', '--workspace', trust.workspace.id, '--verify-key', trust.keys[0].note_key];
    stub.respond = forward((text) => text);
    const { status, out } = await gate(args);
    expect([status, out]).toEqual([0, expect.stringContaining('verified by the public key of the instance')]);
    const without: ResponseHandler = (request, ...call) => {
      delete request.headers.prefer;
      return forward((text) => text)(request, ...call);
    };
    await expectUndecided(without, /has no attestation/, args);
    const forged = resignedDecision((decision) => (decision.message = 'forged with the decision key'));
    await expectUndecided(forged, /the attestation is not valid/, args);
  });

  test('rejects a repeated member, because parsers disagree on its value', () =>
    expectUndecided(
      forward((text) => text.replace('{"allowed":false', '{"allowed":true,"allowed":false')),
      /given twice/,
      ['--agent', 'poor'],
    ));
});

describe('gate with a server that sends no decision', () => {
  const quick = ['--agent', 'good', '--timeout', '400ms'];

  test.each<[string, ResponseHandler, RegExp]>([
    ['truncated JSON', (...call) => respondWith('{"allowed":true,"reason":"all_cond')(...call), /cut off|did not respond/],
    [
      'a connection that closes early',
      (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900' });
        response.write('{"allowed":true', () => response.destroy());
      },
      /cannot be read|did not respond/,
    ],
    ['only the member allowed', (...call) => respondWith('{"allowed":true}')(...call), /not a decision of this service/],
    ['an array', (...call) => respondWith('[true]')(...call), /not from Countersign/],
    ['no body', (...call) => respondWith('')(...call), /cut off|did not respond/],
    [
      'a web page',
      (...call) => respondWith('<html>allowed</html>', 200, { 'content-type': 'text/html' })(...call),
      /not from Countersign/,
    ],
    ['a web page labelled as JSON', (...call) => respondWith('<html>allowed</html>')(...call), /cut off|did not respond/],
    [
      'a redirect with 307',
      (...call) => respondWith('', 307, { location: 'http://127.0.0.1:9/' })(...call),
      /redirects.*give the final address of the service/,
    ],
    ['a redirect with 302', (...call) => respondWith('', 302, { location: '/login' })(...call), /redirects/],
    ['204', (_request, _body, response) => void response.writeHead(204).end(), /204/],
    ['401', (...call) => respondWith('{"error":"unauthorized","issues":[]}', 401)(...call), /401 unauthorized/],
    ['403', (...call) => respondWith('forbidden', 403, { 'content-type': 'text/plain' })(...call), /403/],
    ['404', (...call) => respondWith('{"error":"not_found","issues":[]}', 404)(...call), /404 not_found/],
    ['422', (...call) => respondWith('{"error":"validation_failed","issues":[]}', 422)(...call), /422/],
    [
      '429',
      (...call) => respondWith('{"error":"rate_limited","issues":[]}', 429, { 'retry-after': '1' })(...call),
      /429|did not respond/,
    ],
    ['500', (...call) => respondWith('{"error":"internal_error","issues":[]}', 500)(...call), /500 internal_error/],
    ['503', (...call) => respondWith('{"error":"unavailable","issues":[]}', 503)(...call), /503|did not respond/],
    ['500 with allowed: true', (...call) => respondWith('{"allowed":true}', 500)(...call), /500/],
    ['a server that never responds', () => new Promise(() => undefined), /did not respond within/],
  ])('is undecided: %s', (_what, respond, why) => expectUndecided(respond, why, quick));

  test('is undecided with a closed port and with a name that does not resolve', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await expectUndecided(respondWith(''), /cannot be reached|did not respond/, [...quick, '--url', `http://127.0.0.1:${port}`]);
    await expectUndecided(respondWith(''), /cannot be reached|did not respond/, [
      ...quick,
      '--url',
      'https://countersign.invalid',
    ]);
  });

  test('retries and accepts a later decision', async () => {
    let requests = 0;
    stub.respond = (...call) =>
      ++requests < 3 ? respondWith('{"error":"unavailable","issues":[]}', 503)(...call) : forward((text) => text)(...call);
    expect((await gate(['--agent', 'good'])).status).toBe(0);
  });
});

describe('gate never prints the ingestion key', () => {
  const secret = () => key.split('.')[1]!;

  test.each<[string, (body: string) => ResponseHandler]>([
    [
      'in an error',
      (body) => respondWith(`{"error":"validation_failed","issues":[{"path":"","code":"x","message":"${body}"}]}`, 422),
    ],
    ['in a decision', (body) => forward((text) => text.replace('"message":"', `"message":"${body} `))],
    ['in a redirect', (body) => respondWith('', 302, { location: `/${body}` })],
  ])('when a server returns it %s, even with --debug', async (_where, respond) => {
    for (const form of [[], ['--json']]) {
      stub.respond = respond(key);
      const { status, out, err } = await gate(['--agent', 'good', '--debug', ...form]);
      expect(status).toBe(3);
      expect(out + err).not.toContain(secret());
      expect(out + err).not.toContain(decisionKey);
    }
  });
});
