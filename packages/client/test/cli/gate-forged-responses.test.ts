import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { paths } from '../../../server/test/harness/test-server.ts';
import { harnessIdOf } from '../../src/importers/harness-id.ts';
import { GateWithStub } from '../fixtures/gate-with-stub.ts';
import { type RequestHandler, respondWith } from '../fixtures/stub-server.ts';

let gate: GateWithStub;

beforeAll(async () => {
  gate = await GateWithStub.start();
});

describe('gate with forged responses', () => {
  test('accepts unchanged responses, as a control for the tests below', async () => {
    gate.stub.respond = gate.forward((text) => text);
    expect((await gate.run(['--agent', 'good'])).status).toBe(0);
    expect((await gate.run(['--agent', 'poor'])).status).toBe(1);
  });

  test.each([
    ['a verifier key is a number', { keys: [{ x: 'a', note_key: 7 }] }],
    ['a verifier key is null', { keys: [{ x: 'a', note_key: null }] }],
    ['a time is an object', { keys: [{ x: 'a', note_key: 'b', retired_at: { at: 1 } }] }],
    ['`keys` is an object', { keys: {} }],
    ['the document is null', null],
  ])('is undecided if the attestation is missing and the published keys are malformed: %s', async (_what, published) => {
    const trust = (await runCommand(environmentOf(gate.server), 'trust', 'show', '--workspace', 'acme')).out;
    const respond: RequestHandler = async (request, body, response) => {
      if (request.method === 'GET') return respondWith(JSON.stringify(published))(request, body, response);
      request.headers.prefer = '';
      await gate.forward((text) => text)(request, body, response);
    };
    const variables = { COUNTERSIGN_URL: gate.stub.url, COUNTERSIGN_API_KEY: gate.key, COUNTERSIGN_TRUST: trust };
    await gate.expectUndecided(respond, /the signature was rejected/, ['--agent', 'good'], { environment: variables });
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
    gate.expectUndecided(gate.alteredDecision(change), why, ['--agent', 'poor']),
  );

  test('accepts a decision that was signed again without a change, as a control for the next tests', async () => {
    gate.stub.respond = gate.resignedDecision(() => undefined);
    expect((await gate.run(['--agent', 'good'])).status).toBe(0);
  });

  test.each<[string, (decision: Record<string, unknown>) => void, RegExp]>([
    [
      'another policy',
      (decision) => (decision.policy = 'anything-goes/v9'),
      /its policy is anything-goes\/v9; this version .* supports only/,
    ],
    [
      'allowed set to true',
      (decision) => (decision.allowed = true),
      /its member allowed is true, but its conditions contradict this value/,
    ],
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
    gate.expectUndecided(gate.resignedDecision(change), why, ['--agent', 'poor']),
  );

  test('rejects a replayed old decision', async () => {
    let oldDecision = '';
    gate.stub.respond = gate.forward((text) => (oldDecision = text));
    expect((await gate.run(['--agent', 'good'])).status).toBe(0);
    await gate.expectUndecided((...call) => respondWith(oldDecision)(...call), /an old decision/, ['--agent', 'good'], {
      now: () => Date.now() + 120_000,
    });
  });

  test('rejects a decision from the future unless --clock-skew allows it', async () => {
    const behind = { now: () => Date.now() - 240_000 };
    await gate.expectUndecided(
      gate.forward((text) => text),
      /after it arrived/,
      ['--agent', 'good'],
      behind,
    );
    expect((await gate.run(['--agent', 'good', '--clock-skew', '5m'], behind)).status).toBe(0);
  });

  test('rejects a response that a proxy held back from an earlier attempt of the request', async () => {
    const nonces: unknown[] = [];
    let first = '';
    const holdBack: RequestHandler = async (request, body, response) => {
      if (request.method === 'POST') nonces.push(request.headers['countersign-nonce']);
      if (nonces.length > 1) return respondWith(first)(request, body, response);
      await gate.forward((text) => {
        first = text;
        return '';
      })(request, body, response);
    };
    gate.stub.respond = holdBack;
    const { status, out } = await gate.run(['--agent', 'good']);
    expect([status, out]).toEqual([3, expect.stringMatching(/nonce of another request/)]);
    expect(new Set(nonces).size).toBe(2);
  });

  test('compares the time of a decision with the time of the attempt that received it', async () => {
    let attempts = 0;
    // The clock of this machine jumps between the attempts, so the decision is too old for the second attempt only.
    gate.stub.respond = async (request, body, response) => {
      attempts += request.method === 'POST' ? 1 : 0;
      if (attempts === 1) return respondWith('', 503)(request, body, response);
      await gate.forward((text) => text)(request, body, response);
    };
    const startedAt = Date.now();
    const now = () => (attempts === 0 ? startedAt : startedAt + 120_000);
    const { status, out } = await gate.run(['--agent', 'good'], { now });
    expect([status, out]).toEqual([3, expect.stringMatching(/1[12]\d s before the request: it is an old decision/)]);
  });

  test('rejects a decision that is repeated while the gate waits', async () => {
    await gate.server.post(paths.evaluations, gate.key, { name: 'nightly', agent_name: 'risky', pass_rate: 99 });
    await runCommand(environmentOf(gate.server), 'agents', 'risk', '--workspace', 'acme', '--agent', 'risky', 'high');
    let first = '';
    const replay: RequestHandler = (...call) =>
      first === '' ? gate.forward((text) => (first = text))(...call) : respondWith(first)(...call);
    const args = ['--agent', 'risky', '--wait', '1m'];
    gate.stub.respond = replay;
    const { status, out } = await gate.run(args, { sleep: async () => undefined });
    expect([status, out]).toEqual([3, expect.stringMatching(/nonce of another request/)]);
  });

  test('rejects a genuine new decision about another agent', () =>
    gate.expectUndecided(
      gate.forward(
        (text) => text,
        (body) => ({ ...body, agent_name: 'good' }),
      ),
      /it is about agent good, but poor was requested/,
      ['--agent', 'poor'],
    ));

  test('rejects a decision about another agent if the request has only an agent ID', () =>
    gate.expectUndecided(
      gate.forward(
        (text) => text,
        ({ agent_id: _, ...body }: { agent_id?: string }) => ({ ...body, agent_name: 'good' }),
      ),
      /it is about agent/,
      ['--agent-id', '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f'],
    ));

  test('rejects a decision whose threshold, maximum age or harness differs from the request', async () => {
    await gate.expectUndecided(
      gate.forward(
        (text) => text,
        (body) => ({ ...body, min_pass_rate: 1 }),
      ),
      /about a threshold of 1 %, but 80 % was requested/,
      ['--agent', 'poor'],
    );
    await gate.expectUndecided(
      gate.forward(
        (text) => text,
        (body) => ({ ...body, max_age_hours: 100 }),
      ),
      /with a maximum age of 100 hours, but 1 was requested/,
      ['--agent', 'stale', '--max-age-hours', '1'],
    );
    await gate.expectUndecided(
      gate.forward(
        (text) => text,
        ({ harness_id: _, ...body }: { harness_id?: string }) => body,
      ),
      /it is about any harness, but the harness .* was requested/,
      ['--agent', 'good', '--harness', 'ours'],
    );
  });

  /** Responds with the real decision on a request that a proxy has changed. */
  const changedRequest = (members: object): RequestHandler =>
    gate.forward(
      (text) => text,
      (body) => ({ ...body, ...members }),
    );

  test('rejects a decision if a proxy added a harness to the request, or removed the harness from it', async () => {
    const ours = harnessIdOf('ours');
    await gate.server.post(paths.evaluations, gate.key, {
      name: 'nightly',
      agent_name: 'regressed',
      pass_rate: 99,
      harness_id: ours,
    });
    await gate.server.post(paths.evaluations, gate.key, { name: 'nightly', agent_name: 'regressed', pass_rate: 10 });
    const why = new RegExp(`it is about the harness ${ours}, but any harness was requested`);
    await gate.expectUndecided(changedRequest({ harness_id: ours }), why, ['--agent', 'regressed']);
    await gate.expectUndecided(changedRequest({ harness_id: ours }), why, ['--agent', 'poor']);
    await gate.expectUndecided(
      changedRequest({ harness_id: null }),
      /it is about any harness, but the harness .* was requested/,
      ['--agent', 'nobody', '--harness', 'ours'],
    );
  });

  test('rejects an allowed and a blocked decision with another maximum age than requested', async () => {
    for (const agent of ['good', 'poor'])
      await gate.expectUndecided(
        changedRequest({ max_age_hours: 100 }),
        /with a maximum age of 100 hours, but 72 was requested/,
        ['--agent', agent],
      );
  });

  test.each(['harness_id', 'max_age_hours'])('rejects a decision without %s and suggests an update of the server', (member) =>
    gate.expectUndecided(
      gate.resignedDecision((decision) => delete decision[member]),
      /it does not state the requested harness and maximum age: an older server made it; update the server/,
      ['--agent', 'poor'],
    ),
  );

  test('rejects a decision that was signed with the decision key of another workspace', async () => {
    const otherKey = await gate.server.key(await gate.server.workspace('other'));
    await gate.server.post(paths.evaluations, otherKey, { name: 'nightly', agent_name: 'good', pass_rate: 99 });
    const requestWithOtherKey: RequestHandler = (request, ...call) => {
      request.headers.authorization = `Bearer ${otherKey}`;
      return gate.forward((text) => text)(request, ...call);
    };
    await gate.expectUndecided(requestWithOtherKey, /not by this key/);
  });

  test('rejects a missing attestation and an attestation of another decision', async () => {
    const trust = (await runCommand(environmentOf(gate.server), 'trust', 'show', '--workspace', 'acme')).out;
    const overrides = { environment: { ...gate.environment, COUNTERSIGN_VERIFY_KEY: '', COUNTERSIGN_TRUST: trust } };
    const prefer = { prefer: 'countersign-attestation' };
    const earlierAttestation = (
      await gate.server.post(paths.promotionCheck, gate.key, { agent_name: 'good' }, prefer)
    ).headers.get('countersign-attestation')!;
    gate.stub.respond = gate.forward((text) => text);
    expect((await gate.run(['--agent', 'good'], overrides)).status).toBe(0);
    const withoutAttestation: RequestHandler = (request, ...call) => {
      delete request.headers.prefer;
      return gate.forward((text) => text)(request, ...call);
    };
    await gate.expectUndecided(withoutAttestation, /has no attestation/, ['--agent', 'good'], overrides);
    // A decision key does not replace the attestation: every gate with this key could have signed the decision.
    const bothKeys = { environment: { ...gate.environment, COUNTERSIGN_TRUST: trust } };
    await gate.expectUndecided(withoutAttestation, /has no attestation/, ['--agent', 'good'], bothKeys);
    const unwritten = join(tmpdir(), `countersign-never-${process.pid}.json`);
    await gate.expectUndecided(withoutAttestation, /so the file of --attestation cannot be written/, [
      '--agent',
      'good',
      '--attestation',
      unwritten,
    ]);
    expect(existsSync(unwritten)).toBe(false);
    const staleAttestation: RequestHandler = async (request, body, response) => {
      const head = response.writeHead.bind(response);
      const headers = { 'content-type': 'application/json', 'countersign-attestation': earlierAttestation };
      response.writeHead = ((status: number) => head(status, headers)) as never;
      await gate.forward((text) => text)(request, body, response);
    };
    await gate.expectUndecided(staleAttestation, /none of the known keys has signed it/, ['--agent', 'good'], overrides);
  });

  test('requires the attestation if a public key is given beside the decision key', async () => {
    const trust = JSON.parse((await runCommand(environmentOf(gate.server), 'trust', 'show', '--workspace', 'acme')).out);
    const args = ['--agent', 'good', '--workspace', trust.workspace.id, '--verify-key', trust.keys[0].note_key];
    gate.stub.respond = gate.forward((text) => text);
    const { status, out } = await gate.run(args);
    expect([status, out]).toEqual([0, expect.stringContaining('verified by the public key of the instance')]);
    const withoutAttestation: RequestHandler = (request, ...call) => {
      delete request.headers.prefer;
      return gate.forward((text) => text)(request, ...call);
    };
    await gate.expectUndecided(withoutAttestation, /has no attestation/, args);
    const forged = gate.resignedDecision((decision) => (decision.message = 'forged with the decision key'));
    await gate.expectUndecided(forged, /the attestation is not valid/, args);
  });

  test('rejects a repeated member, because parsers disagree on its value', () =>
    gate.expectUndecided(
      gate.forward((text) => text.replace('{"allowed":false', '{"allowed":true,"allowed":false')),
      /given twice/,
      ['--agent', 'poor'],
    ));
});
