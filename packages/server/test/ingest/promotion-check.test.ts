import { randomUUID } from 'node:crypto';
import { envelopeOfHeader } from '@countersign/core/domain/attestation';
import { decisionDigest, decisionFault } from '@countersign/core/domain/decision-signature';
import { openAttestation } from '@countersign/core/domain/open-attestation';
import { beforeAll, describe, expect, test } from 'vitest';
import { deriveDecisionKey, digests, verifyEd25519 } from '../../src/crypto/digests.ts';
import { setEvaluationTime } from '../harness/evaluation-time.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

const check = (body: object) => server.post(paths.promotionCheck, key, body);
const evaluate = (body: object) => server.post(paths.evaluations, key, { name: 'nightly', ...body });

describe('promotion check', () => {
  test('blocks an unknown agent with the reason no_recent_evaluation, and does not register it', async () => {
    const { status, body } = await check({ agent_name: 'ghost' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      allowed: false,
      reason: 'no_recent_evaluation',
      event: 'promotion.blocked',
      agent_id: null,
      evaluation_id: null,
      evaluation: {},
      evaluation_age: null,
      actual_threshold: null,
    });
    expect(await server.database.sql(`SELECT 1 FROM countersign.agents WHERE name = 'ghost'`)).toEqual([]);
  });

  test('allows promotion if the pass rate equals the threshold, and blocks it at a slightly higher threshold', async () => {
    await evaluate({ agent_name: 'at', pass_rate: 80 });
    expect((await check({ agent_name: 'at' })).body).toMatchObject({
      allowed: true,
      reason: 'all_conditions_met',
      event: 'promotion.allowed',
      threshold: 80,
      required_threshold: 80,
      actual_threshold: 80,
    });
    expect((await check({ agent_name: 'at', min_pass_rate: 80.0001 })).body).toMatchObject({
      allowed: false,
      reason: 'pass_rate_below_threshold',
      event: 'evaluation.failed',
    });
  });

  test('minus zero is stored, compared and signed as zero', async () => {
    const document = '{"name":"n","agent_name":"minus zero","pass_rate":-0.0,"severity_threshold":-0}';
    expect((await server.post(paths.evaluations, key, document)).status).toBe(200);
    const readStored = `SELECT pass_rate::text, severity_threshold::text FROM countersign.evaluations AS e JOIN countersign.agents AS a
      ON a.tenant_id = e.tenant_id AND a.id = e.agent_id WHERE a.name = 'minus zero'`;
    expect(await server.database.sql(readStored)).toEqual([{ pass_rate: '0', severity_threshold: '0' }]);
    const { status, body } = await server.post(paths.promotionCheck, key, '{"agent_name":"minus zero","min_pass_rate":-0}');
    expect([status, body.allowed, body.threshold, body.actual_threshold]).toEqual([200, true, 0, 0]);
    const [row] = await server.database.sql<{ document: string }>('SELECT document FROM countersign.decisions WHERE id = $1', [
      body.decision_id,
    ]);
    expect(row!.document).not.toMatch(/[^0-9a-f]-0/);
  });

  test('only the latest evaluation counts, so a scheduled, running or failing one blocks after a passing one', async () => {
    await evaluate({ agent_name: 'suspended', pass_rate: 99 });
    for (const status of ['scheduled', 'running', 'failing']) {
      await evaluate({ agent_name: 'suspended', status, pass_rate: 99 });
      expect((await check({ agent_name: 'suspended' })).body).toMatchObject({
        allowed: false,
        reason: 'evaluation_not_passing',
        event: 'evaluation.failed',
      });
    }
  });

  test('a passing evaluation without a pass rate allows nothing, even at a threshold of 0', async () => {
    await evaluate({ agent_name: 'silent' });
    expect((await check({ agent_name: 'silent', min_pass_rate: 0 })).body).toMatchObject({
      allowed: false,
      reason: 'pass_rate_below_threshold',
      actual_threshold: null,
    });
  });

  test('an evaluation that is older than max_age_hours, or has a time in the future, is not recent', async () => {
    await evaluate({ agent_name: 'old', pass_rate: 99 });
    await setEvaluationTime(server, 'old', `recorded_at - interval '25 hours'`);
    expect((await check({ agent_name: 'old', max_age_hours: 24 })).body).toMatchObject({
      allowed: false,
      reason: 'no_recent_evaluation',
    });
    expect((await check({ agent_name: 'old', max_age_hours: 26 })).body).toMatchObject({ allowed: true });
    await setEvaluationTime(server, 'old', `clock_timestamp() + interval '1 hour'`);
    const { body } = await check({ agent_name: 'old' });
    expect(body).toMatchObject({ allowed: false, reason: 'no_recent_evaluation' });
    expect(body.evaluation_age).toBeLessThan(0);
  });

  test('with harness_id, only evaluations of that harness count', async () => {
    const [good, bad] = [randomUUID(), randomUUID()];
    await evaluate({ agent_name: 'harnessed', harness_id: good, pass_rate: 95 });
    await evaluate({ agent_name: 'harnessed', harness_id: bad, pass_rate: 10 });
    expect((await check({ agent_name: 'harnessed', harness_id: good })).body).toMatchObject({
      allowed: true,
      evaluation: { harness_id: good },
    });
    expect((await check({ agent_name: 'harnessed' })).body).toMatchObject({ allowed: false });
    expect((await check({ agent_name: 'harnessed', harness_id: randomUUID() })).body).toMatchObject({
      reason: 'no_recent_evaluation',
    });
  });

  test('each concurrent check gets the response for its own agent, harness and threshold', async () => {
    const harness_id = randomUUID();
    await evaluate({ agent_name: 'together', pass_rate: 90, harness_id });
    await evaluate({ agent_name: 'together', pass_rate: 95 });
    await evaluate({ agent_name: 'null', pass_rate: 70 });
    const { agent_id } = (await check({ agent_name: 'together' })).body;
    const cases: [body: object, rate: number | null][] = [
      [{ agent_name: 'together' }, 95],
      [{ agent_name: 'together', harness_id }, 90],
      [{ agent_name: 'together', harness_id: randomUUID() }, null],
      [{ agent_id }, 95],
      [{ agent_id, agent_name: 'together' }, 95],
      [{ agent_name: 'null' }, 70],
      [{ agent_name: `${agent_id} null` }, null],
    ];
    const bodies = [...cases, ...cases, ...cases];
    const responses = await Promise.all(bodies.map(([body]) => check(body)));
    expect(responses.map(({ body }) => body.actual_threshold)).toEqual(bodies.map(([, rate]) => rate));
    const limits = [94, 95, 96, 95].map((min_pass_rate) => ({ agent_name: 'together', min_pass_rate }));
    const limited = await Promise.all([...limits, ...limits].map((body) => check(body)));
    expect(limited.map(({ body }) => [body.required_threshold, body.allowed])).toEqual(
      [...limits, ...limits].map(({ min_pass_rate }) => [min_pass_rate, min_pass_rate <= 95]),
    );
    expect(new Set(responses.map(({ body }) => body.decision_id)).size).toBe(bodies.length);
  });

  test('rejects an ID and a name of different agents, and a check with neither', async () => {
    await evaluate({ agent_name: 'one', pass_rate: 90 });
    await evaluate({ agent_name: 'two', pass_rate: 90 });
    const { agent_id } = (await check({ agent_name: 'one' })).body;
    expect((await check({ agent_id, agent_name: 'one' })).body.allowed).toBe(true);
    expect((await check({ agent_id, agent_name: 'two' })).status).toBe(422);
    expect((await check({ agent_id, agent_name: 'unheard of' })).status).toBe(422);
    expect((await check({ agent_id: randomUUID(), agent_name: 'one' })).status).toBe(422);
    const { status, body } = await check({ agent_id: null });
    expect([status, body.issues[0].code]).toEqual([422, 'agent_missing']);
  });

  test('for an unknown ID without a name, the message does not suggest recording an evaluation, which the server would reject', async () => {
    const id = randomUUID();
    expect((await check({ agent_id: id })).body.message).toBe(
      `No agent with the ID ${id} is known here; check the ID and the workspace of the key, or send agent_name.`,
    );
    expect((await check({ agent_id: id, agent_name: id })).body.message).toBe(
      `No agent named "${id}" is known here; record an evaluation that names it.`,
    );
  });

  test("digest and signature of a decision verify with the tenant's key, but not with another key or after a change", async () => {
    const { body } = await check({ agent_name: 'at' });
    expect(
      decisionFault(body, deriveDecisionKey(server.open.secrets.masterSecret, tenantId, body.key_id), digests),
    ).toBeUndefined();
    expect(decisionFault(body, deriveDecisionKey(server.open.secrets.masterSecret, randomUUID(), body.key_id), digests)).toBe(
      'the signature is not by this key',
    );
    expect(
      decisionFault(
        { ...body, allowed: !body.allowed },
        deriveDecisionKey(server.open.secrets.masterSecret, tenantId, body.key_id),
        digests,
      ),
    ).toContain('was altered');
  });

  test('stores every decision as signed, and writes only blocked ones to the ledger', async () => {
    const allowed = (await check({ agent_name: 'at' })).body;
    const blocked = (await check({ agent_name: 'at', min_pass_rate: 99 })).body;
    const stored = await server.database.sql<{ id: string; document: string }>(
      'SELECT id, document FROM countersign.decisions WHERE id = ANY ($1::uuid[])',
      [[allowed.decision_id, blocked.decision_id]],
    );
    expect(stored.map(({ document }) => JSON.parse(document))).toEqual(expect.arrayContaining([allowed, blocked]));
    const entries = await server.database.sql<{ document: string }>(
      `SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND document LIKE '%' || $2 || '%'`,
      [tenantId, blocked.decision_id],
    );
    expect(entries.map(({ document }) => JSON.parse(document))).toMatchObject([
      {
        actor: 'promotion-gate',
        recorded_by: 'system:promotion-gate',
        action: 'evaluation.failed',
        subject: 'at',
        rationale: blocked.message,
        metadata: { decision_id: blocked.decision_id, response_sha256: blocked.response_sha256, asked_by: key.slice(8, 20) },
      },
    ]);
    expect(
      await server.database.sql(`SELECT 1 FROM countersign.audit_entries WHERE document LIKE '%' || $1 || '%'`, [
        allowed.decision_id,
      ]),
    ).toEqual([]);
  });

  test('ignores an Idempotency-Key', async () => {
    const send = () => server.post(paths.promotionCheck, key, { agent_name: 'at' }, { 'idempotency-key': 'same' });
    const [first, second] = [await send(), await send()];
    expect(first.body.decision_id).not.toBe(second.body.decision_id);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
  });

  test('the evaluation in a decision names its agent, so the signature covers the name', async () => {
    const { body } = await check({ agent_name: 'at' });
    expect(body.evaluation.agent_name).toBe('at');
  });

  test('accepts the attestation preference only as a separate element of Prefer, without a value or with the value ""', async () => {
    const isAttested = async (prefer: string) =>
      (await server.post(paths.promotionCheck, key, { agent_name: 'ghost' }, { prefer })).headers.has('countersign-attestation');
    for (const prefer of [
      'countersign-attestation; foo=1',
      'wait=5;a="b, c" , Countersign-Attestation;x',
      'a="\\", countersign-attestation',
      'countersign-attestation=""',
    ])
      expect([prefer, await isAttested(prefer)]).toEqual([prefer, true]);
    for (const prefer of [
      'a="x, countersign-attestation"',
      'a; countersign-attestation',
      'countersign-attestation=no',
      'countersign-attestation="no"',
      'countersign-attestations',
      '',
    ])
      expect([prefer, await isAttested(prefer)]).toEqual([prefer, false]);
  });

  test('returns the attestation in a header only if the header Prefer requests it', async () => {
    const jwks = (await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as { keys: { kid: string; x: string }[] };
    const keys = jwks.keys.map(({ kid, x }) => ({ keyid: kid, publicKey: new Uint8Array(Buffer.from(x, 'base64url')) }));
    const prefer = { prefer: 'respond-async, Countersign-Attestation' };
    const { body, headers } = await server.post(paths.promotionCheck, key, { agent_name: 'at' }, prefer);
    expect(headers.get('preference-applied')).toBe('countersign-attestation');
    const envelope = envelopeOfHeader(body, headers.get('countersign-attestation')!);
    expect(openAttestation(envelope, keys, verifyEd25519, (decision) => decisionDigest(decision, digests))).toEqual({
      decision: body,
      keyid: keys[0]!.keyid,
    });
    expect((await check({ agent_name: 'at' })).headers.get('countersign-attestation')).toBeNull();
  });
});
