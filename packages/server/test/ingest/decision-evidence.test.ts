import { createHash } from 'node:crypto';
import { REASONS } from '@countersign/core/contract/promotion-check';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { evidenceFault } from '@countersign/core/domain/evidence-verifier';
import { beforeAll, describe, expect, test } from 'vitest';
import { digests } from '../../src/crypto/digests.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { setEvaluationTime } from '../harness/evaluation-time.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;
let token: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace('acme');
  key = await server.key(tenantId);
  token = await mintReadToken(tenantId);
});

const mintReadToken = (tenant: string) =>
  mintKey(server.open.pool, tenant, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
const evaluate = (body: object) => server.post(paths.evaluations, key, { name: 'nightly', ...body });
const check = async (body: object, headers: Record<string, string> = {}) =>
  (await server.post(paths.promotionCheck, key, body, headers)).body;
const read = (path: string, bearer = token) =>
  fetch(`${server.url}/api/ledger/decisions/${path}`, { headers: { authorization: `Bearer ${bearer}` } });
const evidenceOf = async (decision: { decision_id: string }) => (await read(`${decision.decision_id}/evidence`)).text();
const NONCE = 'q3mZ0cX8s1v7bTqg9Jw2Lw';

describe('the signed decision', () => {
  test('names its workspace, the requesting key, its evidence and the nonce of the request', async () => {
    await evaluate({ agent_name: 'named', pass_rate: 92.5 });
    const decision = await check({ agent_name: 'named' }, { 'countersign-nonce': NONCE });
    expect(decision).toMatchObject({ allowed: true, tenant_id: tenantId, asked_by: `key:${key.slice(8, 20)}`, nonce: NONCE });
    expect(decision.evidence_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await check({ agent_name: 'named' })).not.toHaveProperty('nonce');
  });

  test('states the harness and the age limit of the request, in the members after evidence_size', async () => {
    const harness_id = 'C2A9E1F4-5D60-4B37-8E12-9F7A0D3C6B58';
    const decision = await check({ agent_name: 'named', harness_id, max_age_hours: 24 }, { 'countersign-nonce': NONCE });
    expect(decision).toMatchObject({ harness_id: harness_id.toLowerCase(), max_age_hours: 24 });
    expect(Object.keys(decision).slice(-8)).toEqual([
      'evidence_sha256',
      'evidence_size',
      'harness_id',
      'max_age_hours',
      'nonce',
      'response_sha256',
      'signature',
      'signature_alg',
    ]);
    expect(await check({ agent_name: 'named' })).toMatchObject({ harness_id: null, max_age_hours: 72 });
  });

  test.each([
    ['too short', 'a'.repeat(15)],
    ['too long', 'a'.repeat(65)],
    ['empty', ''],
    ['not base64url', `${'a'.repeat(16)}+/=`],
    ['a list of two nonces', `${'a'.repeat(16)}, ${'b'.repeat(16)}`],
  ])('is not made for a nonce that is %s, and the response explains the fault', async (_what, nonce) => {
    const before = await server.database.sql('SELECT count(*) FROM countersign.decisions');
    const response = await server.post(paths.promotionCheck, key, { agent_name: 'named' }, { 'countersign-nonce': nonce });
    expect(response.status).toBe(422);
    expect(response.body).toMatchObject({
      error: 'validation_failed',
      issues: [
        { code: 'bad_header', message: expect.stringMatching(/^Countersign-Nonce must be 16 to 64 characters of base64url/) },
      ],
    });
    expect(await server.database.sql('SELECT count(*) FROM countersign.decisions')).toEqual(before);
  });

  test('is not made for a request with two nonce headers, and the response is a 422', async () => {
    const headers = new Headers({ 'content-type': 'application/json', authorization: `Bearer ${key}` });
    headers.append('countersign-nonce', 'a'.repeat(16));
    headers.append('countersign-nonce', 'b'.repeat(16));
    const response = await fetch(server.url + paths.promotionCheck, { method: 'POST', headers, body: '{"agent_name":"named"}' });
    expect(response.status).toBe(422);
  });

  test('contains the nonce of a request with a large body, which the worker thread prepares', async () => {
    const body = `{"agent_name":"named"${' '.repeat(300_000)}}`;
    const response = await server.post(paths.promotionCheck, key, body, { 'countersign-nonce': NONCE });
    expect([response.status, response.body.nonce]).toEqual([200, NONCE]);
  });
});

describe('the evidence document', () => {
  test('is canonical, has the signed digest and leads to the signed verdict, for each of the seven reasons', async () => {
    for (const agent_name of ['good', 'poor', 'silent', 'failing', 'old', 'future', 'risky', 'rejected', 'reopened', 'several']) {
      const rates: Record<string, number | undefined> = { poor: 60, silent: undefined };
      const pass_rate = agent_name in rates ? rates[agent_name] : 92.5;
      await evaluate({
        agent_name,
        ...(pass_rate === undefined ? {} : { pass_rate }),
        status: agent_name === 'failing' ? 'failing' : 'passing',
      });
    }
    for (const name of ['smoke', 'safety'])
      await server.post('/api/v1/evaluations', key, {
        agent_name: 'several',
        name,
        pass_rate: 97,
        evaluated_at: '2026-01-01T00:00:00.123456Z',
      });
    await evaluate({ agent_name: 'several', pass_rate: 91 });
    await setEvaluationTime(server, 'old', `recorded_at - interval '100 hours'`);
    await setEvaluationTime(server, 'future', `clock_timestamp() + interval '1 hour'`);
    for (const agent of ['risky', 'rejected', 'several'])
      await operate('agents', 'risk', '--workspace', 'acme', '--agent', agent, 'high');
    const { evaluation_id } = await check({ agent_name: 'rejected' });
    await operate('approvals', 'reject', '--workspace', 'acme', '--evaluation', evaluation_id, '--rationale', 'x');
    await operate(
      'incidents',
      'open',
      '--workspace',
      'acme',
      '--agent',
      'reopened',
      '--severity',
      'high',
      '--description',
      'x',
      '--recertify',
    );
    const questions = [
      ...[
        'good',
        'poor',
        'silent',
        'failing',
        'old',
        'future',
        'risky',
        'rejected',
        'reopened',
        'several',
        'g\u043eod',
        'ghost',
      ].map((agent_name) => ({ agent_name })),
      { agent_name: 'good', harness_id: '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f' },
      { agent_name: 'good', min_pass_rate: 99.9, max_age_hours: 1 },
      { agent_id: '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f' },
    ];
    const reasons = new Set<string>();
    for (const question of questions) {
      const decision = await check(question);
      const text = await evidenceOf(decision);
      reasons.add(decision.reason);
      expect(createHash('sha256').update(text).digest('hex')).toBe(decision.evidence_sha256);
      expect(canonicalJson(JSON.parse(text))).toBe(text);
      expect(evidenceFault(decision, text, digests), JSON.stringify(question)).toBeUndefined();
    }
    expect(reasons).toEqual(new Set(REASONS));
    expect(JSON.parse(await evidenceOf(await check({ agent_name: 'several' }))).other_evaluations).toMatchObject([
      { name: 'safety', pass_rate: 97, suite: null, evaluated_at: '2026-01-01T00:00:00.123456Z' },
      { name: 'smoke' },
    ]);
  });

  test('is rejected when it belongs to another decision, was altered, or does not lead to the verdict', async () => {
    const [good, poor] = [await check({ agent_name: 'good' }), await check({ agent_name: 'poor' })];
    const text = await evidenceOf(good);
    expect(evidenceFault(poor, text, digests)).toMatch(/belongs to another decision/);
    expect(evidenceFault(good, text.replace('92.5', '99'), digests)).toMatch(/was altered/);
    const changeDecision = (members: object) => ({ ...good, ...members });
    expect(evidenceFault(changeDecision({ allowed: false }), text, digests)).toMatch(/^allowed does not follow/);
    expect(evidenceFault(changeDecision({ evaluation: { ...good.evaluation, pass_rate: 99 } }), text, digests)).toMatch(
      /^evaluation does/,
    );
    expect(evidenceFault(changeDecision({ tenant_id: good.agent_id }), text, digests)).toMatch(/^tenant_id does not follow/);
    const { evidence_sha256: _, ...older } = good;
    expect(evidenceFault(older, text, digests)).toMatch(/names no evidence/);
    for (const alteredText of [
      text.replace('"version":1', '"version":2'),
      `${text} `,
      text.replace('{"agent"', '{"more":1,"agent"'),
      '[]',
      '',
    ]) {
      const decisionWithDigest = changeDecision({ evidence_sha256: createHash('sha256').update(alteredText).digest('hex') });
      expect(evidenceFault(decisionWithDigest, alteredText, digests), alteredText).toBeDefined();
    }
  });

  test('is readable only with a read token of its workspace; an unknown decision gets a 404', async () => {
    const { decision_id: id } = await check({ agent_name: 'good' });
    const response = await read(`${id}/evidence`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const foreignToken = await mintReadToken(await server.workspace('other'));
    expect((await read(`${id}/evidence`, foreignToken)).status).toBe(404);
    expect((await read('0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f/evidence')).status).toBe(404);
    expect((await read('nothing/evidence')).status).toBe(404);
    expect((await read(`${id}/evidence`, key)).status).toBe(401);
  });
});

describe('ledger verify', () => {
  // This test needs a separate workspace: in the workspace acme, `setEvaluationTime` changed the evidence log after decisions were made.
  beforeAll(async () => {
    key = await server.key(await server.workspace('verified'));
    await evaluate({ agent_name: 'poor', pass_rate: 60 });
  });

  const verify = async () => {
    const { status, out } = await runCommand(
      environmentOf(server),
      'ledger',
      'verify',
      '--workspace',
      'verified',
      '--log',
      'decisions',
    );
    return { status, out };
  };
  const tamper = async (assignment: string, id: string) => {
    await server.database.sql('ALTER TABLE countersign.decisions DISABLE TRIGGER append_only');
    const [before] = await server.database.sql<{ evidence: string; recorded_by: string }>(
      'SELECT evidence, recorded_by FROM countersign.decisions WHERE id = $1',
      [id],
    );
    await server.database.sql(`UPDATE countersign.decisions SET ${assignment} WHERE id = $1`, [id]);
    const result = await verify();
    await server.database.sql('UPDATE countersign.decisions SET evidence = $2, recorded_by = $3 WHERE id = $1', [
      id,
      before!.evidence,
      before!.recorded_by,
    ]);
    await server.database.sql('ALTER TABLE countersign.decisions ENABLE ALWAYS TRIGGER append_only');
    return result;
  };

  test('reports altered evidence, emptied evidence and a changed recorded_by', async () => {
    const { decision_id: id } = await check({ agent_name: 'poor' });
    expect((await verify()).status).toBe(0);
    expect(await tamper(`evidence = replace(evidence, '60', '95')`, id)).toMatchObject({
      status: 1,
      out: expect.stringContaining('the evidence hashes to'),
    });
    expect(await tamper(`evidence = ''`, id)).toMatchObject({
      status: 1,
      out: expect.stringContaining('the evidence hashes to'),
    });
    expect(await tamper(`recorded_by = 'key:000000000000'`, id)).toMatchObject({
      status: 1,
      out: expect.stringContaining('recorded_by'),
    });
    expect((await verify()).status).toBe(0);
  });
});

async function operate(...args: string[]): Promise<void> {
  const { status, err } = await runCommand(environmentOf(server), ...args);
  if (status !== 0) throw new Error(err);
}
