import { beforeAll, describe, expect, test } from 'vitest';
import { paths, type TestServer, testServer } from './bed/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

const check = async (body: object) => (await server.post(paths.promotionCheck, key, body)).body;
const record = (body: object, headers: Record<string, string> = {}) =>
  server.post(paths.detailedEvaluations, key, { name: 'nightly', ...body }, headers);

describe('POST /api/v1/evaluations', () => {
  test('stores all members as they came, beside the evaluations of the public endpoint', async () => {
    const body = {
      agent_name: 'whole',
      status: 'passing',
      pass_rate: 97.4,
      evaluated_at: '2026-11-20T08:02:11.123456+01:00',
      cases: { total: 40, passed: 37, failed: 1, errored: 0, skipped: 2 },
      skipped_excluded: true,
      completeness: 'complete',
      blocking_failures: ['refuses'],
      max_severity: 2.5,
      severity_threshold: 3,
      suite: { name: 'safety', version: '4', digest: `sha256:${'a'.repeat(64)}` },
      results_sha256: 'b'.repeat(64),
      run_url: 'https://ci.example.com/runs/7?a=b#c',
      trace_ids: ['run-1', 'run-2'],
      artifact: `gitCommit:${'c'.repeat(40)}`,
    };
    const { status, body: answer } = await record(body);
    expect([status, answer]).toEqual([200, { ok: true, id: expect.any(String), pass_rate: 97.36842105263156 }]);
    const [row] = await server.database.sql(
      `SELECT status, pass_rate, severity_threshold, suite, completeness, artifact, document::json AS document,
              to_char(evaluated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS evaluated_at
         FROM countersign.evaluations WHERE id = $1`,
      [answer.id],
    );
    expect(row).toEqual({
      ...{ status: 'passing', pass_rate: 97.36842105263156, severity_threshold: 3, suite: 'safety', completeness: 'complete' },
      ...{ artifact: body.artifact, evaluated_at: '2026-11-20 07:02:11.123456', document: { name: 'nightly', ...body } },
    });
  });

  test('is the latest evaluation of its agent for the public check, whichever endpoint recorded last', async () => {
    await server.post(paths.evaluations, key, { name: 'plain', agent_name: 'both', pass_rate: 90 });
    const { body: detailed } = await record({ agent_name: 'both', status: 'failing', cases: { total: 2, passed: 1, failed: 1 } });
    expect(await check({ agent_name: 'both' })).toMatchObject({ reason: 'evaluation_not_passing', evaluation_id: detailed.id });
    const { body: plain } = await server.post(paths.evaluations, key, { name: 'plain', agent_name: 'both', pass_rate: 90 });
    expect(await check({ agent_name: 'both' })).toMatchObject({ allowed: true, evaluation_id: plain.id });
  });

  test('an Idempotency-Key replays the first answer, and counts apart from that of the public endpoint', async () => {
    const body = { agent_name: 'again', cases: { total: 4, passed: 3, failed: 1 } };
    const first = await record(body, { 'idempotency-key': 'k' });
    const again = await record(body, { 'idempotency-key': 'k' });
    expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true']);
    const plain = { name: 'nightly', agent_name: 'again' };
    const other = await server.post(paths.evaluations, key, plain, { 'idempotency-key': 'k' });
    expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect(await record({ ...body, notes: 'x' }, { 'idempotency-key': 'k' })).toMatchObject({
      status: 422,
      body: { error: 'idempotency_key_reused' },
    });
  });

  test.each([
    ['the cases give it', { cases: { total: 40, passed: 37, failed: 3 } }, 92.5],
    ['skipped cases count as not passed', { cases: { total: 10, passed: 8, skipped: 2 } }, 80],
    ['skipped cases are excluded', { cases: { total: 10, passed: 8, skipped: 2 }, skipped_excluded: true }, 100],
    ['cases in error count as not passed', { cases: { total: 10, passed: 8, errored: 2 }, skipped_excluded: true }, 80],
    ['never rounded up', { cases: { total: 3, passed: 2, failed: 1 } }, 66.66666666666666],
    ['exactly a tenth', { cases: { total: 1000, passed: 1, failed: 999 } }, 0.1],
    ['the lower of two that agree: the cases', { pass_rate: 66.7, cases: { total: 3, passed: 2, failed: 1 } }, 66.66666666666666],
    ['the lower of two that agree: the report', { pass_rate: 66.6, cases: { total: 3, passed: 2, failed: 1 } }, 66.6],
    ['scores that are not binary', { pass_rate: 71.5, cases: { total: 10, errored: 1 } }, 71.5],
    ['scores that are not binary, and no rate', { cases: { total: 10 } }, null],
    ['no case counts', { cases: { total: 0, passed: 0 } }, null],
    ['all cases skipped', { cases: { total: 3, passed: 0, skipped: 3 }, skipped_excluded: true }, null],
    ['nothing said', {}, null],
  ])('the pass rate: %s', async (what, body, rate) => {
    const { body: answer } = await record({ agent_name: what, ...body });
    expect(answer.pass_rate).toBe(rate);
    const decision = await check({ agent_name: what, min_pass_rate: rate ?? 0 });
    expect([decision.allowed, decision.actual_threshold]).toEqual([rate !== null, rate]);
  });

  test('needs the scope of evaluations', async () => {
    const audit = await server.key(tenantId, ['audit']);
    const { status, body } = await server.post(paths.detailedEvaluations, audit, { name: 'n' });
    expect([status, body.error]).toEqual([401, 'insufficient_scope']);
  });
});
