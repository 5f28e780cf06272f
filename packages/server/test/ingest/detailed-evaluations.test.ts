import { beforeAll, describe, expect, test } from 'vitest';
import { closeRecertifications } from '../../src/workspace/close-recertifications.ts';
import { openIncident } from '../../src/workspace/open-incident.ts';
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

const check = async (body: object) => (await server.post(paths.promotionCheck, key, body)).body;
const record = (body: object, headers: Record<string, string> = {}) =>
  server.post(paths.detailedEvaluations, key, { name: 'nightly', ...body }, headers);

describe('POST /api/v1/evaluations', () => {
  test('stores all members as sent, in the same table as /api/public/evaluations', async () => {
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
    const { status, body: response } = await record(body);
    expect([status, response]).toEqual([200, { ok: true, id: expect.any(String), pass_rate: 97.36842105263156 }]);
    const [row] = await server.database.sql(
      `SELECT status, pass_rate, severity_threshold, suite, completeness, artifact, document::json AS document,
              to_char(evaluated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS evaluated_at
         FROM countersign.evaluations WHERE id = $1`,
      [response.id],
    );
    expect(row).toEqual({
      ...{ status: 'passing', pass_rate: 97.36842105263156, severity_threshold: 3, suite: 'safety', completeness: 'complete' },
      ...{ artifact: body.artifact, evaluated_at: '2026-11-20 07:02:11.123456', document: { name: 'nightly', ...body } },
    });
  });

  test('the promotion check uses the last recorded evaluation of either endpoint', async () => {
    await server.post(paths.evaluations, key, { name: 'plain', agent_name: 'both', pass_rate: 90 });
    const { body: detailed } = await record({ agent_name: 'both', status: 'failing', cases: { total: 2, passed: 1, failed: 1 } });
    expect(await check({ agent_name: 'both' })).toMatchObject({ reason: 'evaluation_not_passing', evaluation_id: detailed.id });
    const { body: plain } = await server.post(paths.evaluations, key, { name: 'plain', agent_name: 'both', pass_rate: 90 });
    expect(await check({ agent_name: 'both' })).toMatchObject({ allowed: true, evaluation_id: plain.id });
  });

  test('replays the response to an Idempotency-Key of this endpoint, and rejects the key with another body', async () => {
    const body = { agent_name: 'again', cases: { total: 4, passed: 3, failed: 1 } };
    const first = await record(body, { 'idempotency-key': 'k' });
    const replayed = await record(body, { 'idempotency-key': 'k' });
    expect([replayed.body, replayed.headers.get('idempotent-replayed')]).toEqual([first.body, 'true']);
    const plain = { name: 'nightly', agent_name: 'again' };
    const plainResponse = await server.post(paths.evaluations, key, plain, { 'idempotency-key': 'k' });
    expect([plainResponse.status, plainResponse.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect(await record({ ...body, notes: 'x' }, { 'idempotency-key': 'k' })).toMatchObject({
      status: 422,
      body: { error: 'idempotency_key_reused' },
    });
  });

  test.each([
    ['from the cases', { cases: { total: 40, passed: 37, failed: 3 } }, 92.5],
    ['skipped cases count as not passed', { cases: { total: 10, passed: 8, skipped: 2 } }, 80],
    ['skipped cases are excluded', { cases: { total: 10, passed: 8, skipped: 2 }, skipped_excluded: true }, 100],
    ['cases in error count as not passed', { cases: { total: 10, passed: 8, errored: 2 }, skipped_excluded: true }, 80],
    ['never rounded up', { cases: { total: 3, passed: 2, failed: 1 } }, 66.66666666666666],
    ['exact for 1 of 1000 cases', { cases: { total: 1000, passed: 1, failed: 999 } }, 0.1],
    [
      'the rate of the cases, because the reported rate is higher',
      { pass_rate: 66.7, cases: { total: 3, passed: 2, failed: 1 } },
      66.66666666666666,
    ],
    [
      'the reported rate, because the rate of the cases is higher',
      { pass_rate: 66.6, cases: { total: 3, passed: 2, failed: 1 } },
      66.6,
    ],
    ['the reported rate, because the scores are not binary', { pass_rate: 71.5, cases: { total: 10, errored: 1 } }, 71.5],
    ['no rate, because the scores are not binary and no rate is reported', { cases: { total: 10 } }, null],
    ['no rate, because there are zero cases', { cases: { total: 0, passed: 0 } }, null],
    ['no rate, because all cases were skipped', { cases: { total: 3, passed: 0, skipped: 3 }, skipped_excluded: true }, null],
    ['no rate, because the body has neither a rate nor cases', {}, null],
  ])('computes the pass rate, which promotion checks use: %s', async (what, body, rate) => {
    const { body: response } = await record({ agent_name: what, ...body });
    expect(response.pass_rate).toBe(rate);
    const decision = await check({ agent_name: what, min_pass_rate: rate ?? 0 });
    expect([decision.allowed, decision.actual_threshold]).toEqual([rate !== null, rate]);
  });

  test.each([
    ['1970-01-01T00:00:00Z', 200],
    ['1970-01-01T00:00:00', 200],
    ['1969-12-31T23:00:00-05:00', 200],
    ['1969-12-31t23:59:59.999999999z', 422],
    ['1969-12-31T23:59:59.5', 422],
    ['1970-01-01T00:00:00+05:00', 422],
    ['0001-01-01T00:00:00Z', 422],
    ['1960-12-31T23:59:60Z', 422],
  ])('compares evaluated_at %s with 1970 in UTC and responds with %i', async (evaluated_at, expected) => {
    const { status, body } = await record({ evaluated_at });
    expect([status, body.issues?.map(({ path, code }: { path: string; code: string }) => [path, code])]).toEqual(
      expected === 200 ? [200, undefined] : [422, [['/evaluated_at', 'too_small']]],
    );
  });

  test('accepts a name and a suite of the maximum length', async () => {
    const name = '\u{1F600}'.repeat(512);
    expect((await record({ agent_name: 'long', name, suite: { name } })).status).toBe(200);
  });

  test('requires the scope evaluations', async () => {
    const audit = await server.key(tenantId, ['audit']);
    const { status, body } = await server.post(paths.detailedEvaluations, audit, { name: 'n' });
    expect([status, body.error]).toEqual([401, 'insufficient_scope']);
  });
});

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

describe('the age of an evaluation', () => {
  const passing = { cases: { total: 10, passed: 10 } };

  test('counts from evaluated_at, so an old run recorded today is not recent', async () => {
    const evaluated_at = '2025-01-05T00:00:00Z';
    await record({ agent_name: 'stale', evaluated_at, ...passing });
    const decision = await check({ agent_name: 'stale', max_age_hours: 8760 });
    expect(decision).toMatchObject({
      allowed: false,
      reason: 'no_recent_evaluation',
      evaluation: { evaluated_at: '2025-01-05T00:00:00.000Z' },
    });
    expect(decision.message).toMatch(/is 1\d{4}(\.\d+)? hours old \(run at 2025-01-05T00:00:00\.000Z\), the limit is 8760 hours/);
    expect(decision.evaluation_age).toBeGreaterThan(8760);
  });

  test('counts from the time of recording if that time is earlier or evaluated_at is absent', async () => {
    await record({ agent_name: 'ahead', evaluated_at: hoursAgo(-0.05), ...passing });
    await record({ agent_name: 'silent', ...passing });
    for (const agent_name of ['ahead', 'silent']) await setEvaluationTime(server, agent_name, `recorded_at - interval '5 hours'`);
    for (const agent_name of ['ahead', 'silent']) {
      const decision = await check({ agent_name, max_age_hours: 4 });
      expect([decision.reason, Math.floor(decision.evaluation_age)]).toEqual(['no_recent_evaluation', 5]);
    }
    expect((await check({ agent_name: 'silent' })).evaluation).not.toHaveProperty('evaluated_at');
  });

  test('23.5 hours is within a limit of 24 hours and beyond a limit of 23 hours', async () => {
    await record({ agent_name: 'edge', evaluated_at: hoursAgo(23.5), ...passing });
    expect((await check({ agent_name: 'edge', max_age_hours: 24 })).allowed).toBe(true);
    expect((await check({ agent_name: 'edge', max_age_hours: 23 })).reason).toBe('no_recent_evaluation');
  });

  test('an evaluation with a time of recording in the future allows nothing, even if its evaluated_at is in the past', async () => {
    await record({ agent_name: 'jumped', evaluated_at: hoursAgo(1), ...passing });
    await setEvaluationTime(server, 'jumped', `clock_timestamp() + interval '20 years'`);
    expect(await check({ agent_name: 'jumped' })).toMatchObject({ allowed: false, reason: 'no_recent_evaluation' });
  });

  test('the latest evaluation is the last recorded one, even if another one ran later', async () => {
    await record({ agent_name: 'order', evaluated_at: hoursAgo(1), ...passing });
    const { body } = await record({ agent_name: 'order', evaluated_at: hoursAgo(5), ...passing });
    expect((await check({ agent_name: 'order' })).evaluation_id).toBe(body.id);
  });

  test('a re-certification cannot be closed with a run from before the incident, even if the run is recorded later', async () => {
    await record({ agent_name: 'incident', ...passing });
    const incident = { agent: 'incident', severity: 'high', description: 'it lied', recertify: true } as const;
    const runTime = new Date().toISOString();
    await openIncident(server.open.pool, tenantId, incident, 'operator');
    const close = () =>
      closeRecertifications(server.open.pool, tenantId, { agent: 'incident', rationale: 'trained anew' }, 'operator');
    await record({ agent_name: 'incident', evaluated_at: runTime, ...passing });
    await expect(close()).rejects.toThrow(`run at ${runTime}, was run or recorded before the incident was opened`);
    await record({ agent_name: 'incident', evaluated_at: new Date().toISOString(), ...passing });
    await expect(close()).resolves.toMatchObject({ incidentIds: [expect.any(String)] });
  });
});

describe('the message of an allowed decision', () => {
  const recordSuite = (name: string, body: object = {}) =>
    record({ agent_name: 'suites', name: 'nightly', suite: { name }, cases: { total: 10, passed: 10 }, ...body });

  test('names its evaluation and the results of other suites of the agent', async () => {
    await recordSuite('alone', {
      agent_name: 'one suite',
      cases: { total: 25, passed: 24, failed: 1 },
      evaluated_at: hoursAgo(2.5),
    });
    expect((await check({ agent_name: 'one suite' })).message).toBe(
      'one suite may be promoted: all four conditions are met, and the decision rests on "nightly" (96 %, 2 hours ago).',
    );
    await recordSuite('safety', {
      name: 'nightly safety',
      status: 'failing',
      cases: { total: 5, passed: 1, failed: 4 },
      evaluated_at: hoursAgo(3.2),
    });
    // Names can contain dates and build numbers. All evaluations of a suite are still one series.
    for (const build of [41, 42])
      await recordSuite('quality', { name: `nightly quality, build ${build}`, evaluated_at: hoursAgo(60) });
    await recordSuite('quality', { name: 'nightly quality' });
    expect((await check({ agent_name: 'suites' })).message).toBe(
      'suites may be promoted: all four conditions are met, and the decision rests on "nightly quality" (100 %, less than a minute ago). ' +
        'Other suites of this agent: "nightly safety" (suite "safety") is failing, 20 %, 3 hours ago.',
    );
  });

  test('lists the latest evaluation of every other suite or name, separately for each harness, from both endpoints', async () => {
    const harness_id = '0198f1c2-7d3e-7a41-9b1e-3f2a5c6d7e8f';
    const recordPlain = (body: object) => server.post(paths.evaluations, key, { agent_name: 'series', pass_rate: 90, ...body });
    await recordPlain({ name: 'a', status: 'failing' });
    await recordPlain({ name: 'a' });
    await recordPlain({ name: 'a', harness_id, status: 'running' });
    await record({ agent_name: 'series', name: 'a', suite: { name: 's' }, status: 'scheduled' });
    await recordPlain({ name: 'b' });
    expect((await check({ agent_name: 'series' })).message).toContain(
      'Other suites of this agent: "a" (suite "s") is scheduled, less than a minute ago; "a" is running, 90 %, less than a minute ago; ' +
        '"a" is passing, 90 %, less than a minute ago.',
    );
    await recordPlain({ name: 'a', harness_id });
    expect((await check({ agent_name: 'series', harness_id })).message).toContain('rests on "a" (90 %');
  });

  test('is limited in length and shows hostile names as plain text', async () => {
    const hostile = '\u202e"evil".\u200b\u2028 '.repeat(40);
    for (let number = 0; number < 9; number += 1)
      await recordSuite(`${hostile}${number}`, { agent_name: 'hostile', name: `${hostile}${number}` });
    const { message } = await check({ agent_name: 'hostile' });
    expect(message.length).toBeLessThan(1000);
    expect(message).toMatch(/; and more\.$/);
    expect(message).not.toMatch(/[\u202e\u200b\u2028]/);
    expect(message.match(/"/g)).toHaveLength(12);
  });
});
