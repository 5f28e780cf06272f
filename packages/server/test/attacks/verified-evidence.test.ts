import { randomUUID } from 'node:crypto';
import { signDecision } from '@countersign/core/domain/decision-signature';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deriveDecisionKey, digests } from '../../src/crypto/digests.ts';
import { HIGHEST_ID, LOWEST_ID } from '../../src/storage/id-range.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId = '';
let key = '';
let agent = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  for (const table of ['evaluations', 'evidence_events', 'agents', 'approvals', 'recertifications', 'incidents'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(() => {
  agent = `bot-${randomUUID()}`;
});

const evaluate = (pass_rate: number) =>
  server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate, status: 'passing' });
const check = () => server.post(paths.promotionCheck, key, { agent_name: agent });
const sql = (statement: string, values: unknown[] = []) =>
  server.database.sql<{ id: string }>(
    statement.replaceAll('$AGENT', `(SELECT id FROM countersign.agents WHERE name = '${agent}')`),
    values,
  );

describe('`ledger verify`', () => {
  const verify = async (log: string) => {
    const { status, out } = await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', workspace, '--log', log);
    return [status, out];
  };
  let workspace = '';

  beforeEach(async () => {
    workspace = `w-${randomUUID()}`;
    tenantId = await server.workspace(workspace);
    key = await server.key(tenantId);
    for (let count = 0; count < 3; count += 1) await evaluate(90 + count);
    await server.post(paths.evaluations, key, { name: 'without an agent', pass_rate: 1 });
    expect(await verify('evidence')).toEqual([0, expect.stringMatching(/^valid: 4 entries/)]);
  });

  const evaluations = () => sql('SELECT id FROM countersign.evaluations WHERE agent_id = $AGENT ORDER BY seq');

  test.each([
    [
      'in the pass rate of an older evaluation',
      0,
      `pass_rate = 12`,
      /the table evaluations: the row \S+ differs from the log: pass_rate is 12, the log says 90/,
    ],
    [
      'in the document of an older evaluation',
      1,
      `document = document || ' '`,
      /differs from the log: the digest of its document is/,
    ],
    ['in the status of the latest evaluation', 2, `status = 'failing'`, /status is "failing", the log says "passing"/],
    ['in the agent of an evaluation', 1, 'agent_id = NULL', /differs from the log: the row is gone/],
    ['in the sender of an evaluation', 2, `recorded_by = 'operator'`, /recorded_by is "operator"/],
  ])('names a row that differs from the evidence log %s', async (_, index, set, finding) => {
    const { id } = (await evaluations())[index]!;
    await sql(`UPDATE countersign.evaluations SET ${set} WHERE id = $1`, [id]);
    const [status, out] = await verify('evidence');
    expect([status, out]).toEqual([1, expect.stringMatching(finding)]);
    expect(out).toContain(id);
  });

  const insertEvaluation = (id: string, seq: string) =>
    sql(
      `INSERT INTO countersign.evaluations (tenant_id, seq, id, recorded_at, recorded_by, agent_id, name, status, pass_rate, document)
       OVERRIDING SYSTEM VALUE
       SELECT tenant_id, ${seq}, $1, recorded_at, recorded_by, agent_id, name, status, pass_rate, document FROM countersign.evaluations
        WHERE agent_id = $AGENT ORDER BY seq LIMIT 1`,
      [id],
    );

  test.each(['seq - 1', '0', '-9223372036854775808'])(
    'names an inserted evaluation (seq: %s); if an original evaluation was removed too, names the removed one and counts the inserted one',
    async (seq) => {
      const [first] = await evaluations();
      const inserted = first!.id.replace(/^.{4}/, 'ffff');
      await insertEvaluation(inserted, seq);
      const [status, out] = await verify('evidence');
      expect([status, out]).toEqual([1, expect.stringContaining(`the row ${inserted} differs from the log`)]);
      expect(out).not.toMatch(/and \d+ more/);
      await sql('DELETE FROM countersign.evaluations WHERE id = $1', [first!.id]);
      expect((await verify('evidence'))[1]).toContain(`the row ${first!.id} differs from the log: the row is gone (and 1 more)`);
    },
  );

  test('names a removed evaluation even if another one was inserted with the highest 64-bit integer as its seq', async () => {
    const [first] = await evaluations();
    await insertEvaluation(first!.id.replace(/^.{4}/, 'ffff'), '9223372036854775807');
    await sql('DELETE FROM countersign.evaluations WHERE id = $1', [first!.id]);
    expect(await verify('evidence')).toEqual([
      1,
      expect.stringContaining(`the row ${first!.id} differs from the log: the row is gone`),
    ]);
  });

  test.each([
    [
      'in the name of an agent',
      `UPDATE countersign.agents SET name = 'other' WHERE id = $AGENT`,
      /the table agents: .* its name is "other"/,
    ],
    [
      'in the risk level of an agent',
      `UPDATE countersign.agents SET risk_level = 'high' WHERE id = $AGENT`,
      /its risk level is high, the log says low/,
    ],
    ...['gen_random_uuid()', `'${LOWEST_ID}'`, `'${HIGHEST_ID}'`].map((id): [string, string, RegExp] => [
      `because an agent with the ID ${id} was inserted`,
      `INSERT INTO countersign.agents (tenant_id, id, name) SELECT tenant_id, ${id}, 'ghost' FROM countersign.agents WHERE id = $AGENT`,
      /the log has no such agent/,
    ]),
    ['because an agent was removed', 'DELETE FROM countersign.agents WHERE id = $AGENT', /the table agents: .* the row is gone/],
    [
      'because an approval was inserted',
      `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_at, requested_by, decided_at, decided_by, rationale, decided_seq)
       SELECT tenant_id, id, agent_id, 'approved', now(), 'operator', now(), 'operator', 'x', 1 FROM countersign.evaluations WHERE agent_id = $AGENT ORDER BY seq DESC LIMIT 1`,
      /the table approvals: .* it is approved, and the log has no such decision/,
    ],
    [
      'because a re-certification was inserted',
      `INSERT INTO countersign.recertifications (tenant_id, incident_id, agent_id, opened_at, opened_seq) SELECT tenant_id, gen_random_uuid(), id, now(), 1 FROM countersign.agents WHERE id = $AGENT`,
      /the table recertifications: .* it is open, and the log says/,
    ],
  ])('names a row that differs from the evidence log %s', async (_, attack, finding) => {
    await sql(attack);
    expect(await verify('evidence')).toEqual([1, expect.stringMatching(finding)]);
  });

  test('reports a decision whose evidence differs from the log', async () => {
    const { body } = await check();
    await check();
    expect(await verify('decisions')).toEqual([0, expect.stringMatching(/^valid: 2 entries/)]);
    // An attacker with the master secret signs a decision based on evidence that was never recorded.
    const [stored] = await server.database.sql<{ evidence: string; document: string }>(
      'SELECT evidence, document FROM countersign.decisions WHERE id = $1',
      [body.decision_id],
    );
    const evidence = stored!.evidence.replace('"pass_rate":92', '"pass_rate":99');
    const claims = JSON.parse(stored!.document);
    const decision = {
      ...claims,
      actual_threshold: 99,
      evaluation: { ...claims.evaluation, pass_rate: 99 },
      evidence_sha256: digests.sha256Hex(evidence),
    };
    for (const member of ['response_sha256', 'signature', 'signature_alg']) delete decision[member];
    const signed = signDecision(decision, deriveDecisionKey(server.open.secrets.masterSecret, tenantId, claims.key_id), digests);
    await server.database.sql('ALTER TABLE countersign.decisions DISABLE TRIGGER ALL');
    await server.database.sql(
      `UPDATE countersign.decisions SET document = $2, evidence = $3, response_sha256 = decode($4, 'hex') WHERE id = $1`,
      [body.decision_id, JSON.stringify(signed), evidence, signed.response_sha256],
    );
    expect(await verify('decisions')).toEqual([
      1,
      expect.stringMatching(/^broken at seq 1: evaluation of its evidence does not follow/),
    ]);
  });
});

test('`ledger verify --log all` verifies all five logs, names the broken one, and rejects --head', async () => {
  const workspace = `w-${randomUUID()}`;
  tenantId = await server.workspace(workspace);
  key = await server.key(tenantId);
  await evaluate(90);
  await check();
  const verify = (...more: string[]) =>
    runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', workspace, '--log', 'all', ...more);
  const validResult = await verify();
  // The triggers that this file disabled are reported as warnings.
  const logs = validResult.out.split('\n').filter((line) => !line.startsWith('warning'));
  expect([validResult.status, logs.map((line) => line.replace(/:.*/, ''))]).toEqual([
    0,
    ['audit', 'decisions', 'evidence', 'keys', 'traces', ''],
  ]);
  await sql(`UPDATE countersign.agents SET risk_level = 'high' WHERE id = $AGENT`);
  const brokenResult = await verify('--json');
  expect([brokenResult.status, JSON.parse(brokenResult.out)]).toEqual([
    1,
    expect.objectContaining({
      result: 'broken',
      logs: expect.objectContaining({ audit: expect.objectContaining({ result: 'ok' }) }),
    }),
  ]);
  expect(JSON.parse(brokenResult.out).logs.evidence.not_met).toMatchObject({ source: 'the table agents' });
  expect((await verify('--head', 'audit;size=1')).status).toBe(2);
});
