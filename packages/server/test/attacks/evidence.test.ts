import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let otherServer: TestServer;
let tenantId = '';
let key = '';
let agent = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  tenantId = await server.workspace('victim');
  key = await server.key(tenantId);
  otherServer = await testServer({ checkpointSeconds: undefined, database: server.database });
  for (const table of ['evaluations', 'evidence_events', 'agents', 'approvals', 'recertifications', 'incidents'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(() => {
  agent = `bot-${randomUUID()}`;
});

const evaluate = (pass_rate: number, more: object = {}) =>
  server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate, status: 'passing', ...more });
const check = (target = server, more: object = {}) => target.post(paths.promotionCheck, key, { agent_name: agent, ...more });
const runOperatorCommand = async (...args: string[]) => {
  const run = await runCommand(environmentOf(server), ...args);
  expect([args, run.status]).toEqual([args, 0]);
};
const sql = (statement: string, values: unknown[] = []) =>
  server.database.sql<{ id: string }>(
    statement.replaceAll('$AGENT', `(SELECT id FROM countersign.agents WHERE name = '${agent}')`),
    values,
  );

/** Status, verdict and reason from two servers: the server that recorded the evidence, and one that read it from the log. */
async function requestDecisions(more: object = {}) {
  const responses = [await check(server, more), await check(otherServer, more)];
  return responses.map(({ status, body }) => [status, body.allowed, body.reason]);
}

const onBothServers = (...decision: unknown[]) => [decision, decision];

describe('the server, after rows were changed outside it (attacks A, B, C of docs/threat-model.md),', () => {
  test('A: ignores a changed pass rate and status of an evaluation', async () => {
    const { body } = await evaluate(12, { status: 'failing' });
    await sql(`UPDATE countersign.evaluations SET pass_rate = 99, status = 'passing' WHERE id = $1`, [body.id]);
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'evaluation_not_passing'));
  });

  test('A: ignores a changed document and pass rate of an evaluation', async () => {
    const { body } = await evaluate(12);
    await sql(`UPDATE countersign.evaluations SET pass_rate = 99, document = replace(document, '12', '99') WHERE id = $1`, [
      body.id,
    ]);
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
  });

  test('B: ignores an inserted evaluation that is newer than the latest', async () => {
    await evaluate(12);
    await sql(
      `INSERT INTO countersign.evaluations (tenant_id, seq, id, recorded_at, recorded_by, agent_id, name, status, pass_rate, document)
       VALUES ($1, 999999, gen_random_uuid(), clock_timestamp(), 'key:0123456789ab', $AGENT, 'nightly', 'passing', 99, '{}')`,
      [tenantId],
    );
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
  });

  test('B: still uses the latest evaluation, which is below the threshold, after its row was deleted', async () => {
    await evaluate(99);
    const { body } = await evaluate(12);
    await sql('DELETE FROM countersign.evaluations WHERE id = $1', [body.id]);
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
  });

  test('C: ignores an inserted approval and a lowered risk level', async () => {
    const { body } = await evaluate(99);
    await runOperatorCommand('agents', 'risk', '--workspace', 'victim', '--agent', agent, 'high');
    await sql(
      `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_at, requested_seq, requested_by,
         decided_at, decided_by, rationale, decided_seq)
       VALUES ($1, $2, $AGENT, 'approved', now(), 999999, 'operator', now(), 'operator', 'seen', 1)`,
      [tenantId, body.id],
    );
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'approval_required'));
    await sql(`UPDATE countersign.agents SET risk_level = 'low' WHERE id = $AGENT`);
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'approval_required'));
  });

  test('C: still blocks the agent if the row of its re-certification was closed, or this row and its incident were deleted', async () => {
    await evaluate(99);
    await runOperatorCommand(
      ...['incidents', 'open', '--workspace', 'victim', '--agent', agent],
      ...['--severity', 'high', '--description', 'it lied', '--recertify'],
    );
    await sql(
      `UPDATE countersign.recertifications SET closed_at = now(), closed_by = 'operator', rationale = 'x', evaluation_id = (SELECT id FROM countersign.evaluations WHERE agent_id = $AGENT) WHERE agent_id = $AGENT`,
    );
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'recertification_open'));
    await sql('DELETE FROM countersign.recertifications WHERE agent_id = $AGENT');
    await sql('DELETE FROM countersign.incidents WHERE agent_id = $AGENT');
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'recertification_open'));
  });

  test('C: ignores swapped agent names, before and after an evaluation', async () => {
    const passingAgent = agent;
    await evaluate(99);
    agent = `bad-${passingAgent}`;
    await evaluate(12);
    const failingAgent = agent;
    const swap = async () => {
      await sql(`UPDATE countersign.agents SET name = 'swapping' WHERE name = $1`, [passingAgent]);
      await sql('UPDATE countersign.agents SET name = $1 WHERE name = $2', [passingAgent, failingAgent]);
      await sql(`UPDATE countersign.agents SET name = $1 WHERE name = 'swapping'`, [failingAgent]);
    };
    await swap();
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
    // According to the table, this evaluation of the passing agent would belong to the failing agent.
    await server.post(paths.evaluations, key, { name: 'nightly', agent_name: passingAgent, pass_rate: 98, status: 'passing' });
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
  });

  test('ignores a view that replaces the table evaluations', async () => {
    await evaluate(12);
    await sql('ALTER TABLE countersign.evaluations RENAME TO evaluations_hidden');
    await sql(`CREATE VIEW countersign.evaluations AS SELECT tenant_id, seq, id, recorded_at, recorded_by, agent_id, harness_id, name, category,
                 'passing' AS status, 99::float8 AS pass_rate, evaluated_at, suite, document FROM countersign.evaluations_hidden`);
    try {
      expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
    } finally {
      await sql('DROP VIEW countersign.evaluations');
      await sql('ALTER TABLE countersign.evaluations_hidden RENAME TO evaluations');
    }
  });

  test('ignores a reset risk level and the deletion of an evaluation below the threshold', async () => {
    await evaluate(99);
    await runOperatorCommand('agents', 'risk', '--workspace', 'victim', '--agent', agent, 'high');
    const { body } = await evaluate(12);
    await sql('DELETE FROM countersign.evaluations WHERE id = $1', [body.id]);
    await sql(`UPDATE countersign.agents SET risk_level = 'low' WHERE id = $AGENT`);
    expect(await requestDecisions()).toEqual(onBothServers(200, false, 'pass_rate_below_threshold'));
  });

  test('refuses to close a re-certification if the latest evaluation is failing in the log and passing only in its row', async () => {
    await evaluate(99);
    await runOperatorCommand(
      ...['incidents', 'open', '--workspace', 'victim', '--agent', agent],
      ...['--severity', 'high', '--description', 'it lied', '--recertify'],
    );
    const { body } = await evaluate(12, { status: 'failing' });
    await sql(`UPDATE countersign.evaluations SET status = 'passing', pass_rate = 99 WHERE id = $1`, [body.id]);
    const close = ['recertifications', 'close', '--workspace', 'victim', '--agent', agent, '--rationale', 'seen'];
    const run = await runCommand(environmentOf(server), ...close);
    expect([run.status, run.err]).toEqual([9, expect.stringContaining('is failing, not passing')]);
  });

  test('reports an agent in the portal as not promotable after the pass rate in the row of its evaluation was raised', async () => {
    const { body } = await evaluate(12);
    await sql('UPDATE countersign.evaluations SET pass_rate = 99 WHERE id = $1', [body.id]);
    const viewer = await portalClient(server, tenantId, 'viewer');
    const [{ id }] = (await sql('SELECT id FROM countersign.agents WHERE id = $AGENT')) as [{ id: string }];
    expect((await viewer.getResult('agents.read', { params: { agent: id } })).standing).toMatchObject({ promotable: false });
  });
});

describe('a request gets 503 if its agent is only in the table (evaluations) or only in the log (traces, telemetry)', () => {
  test.each(['evaluations', 'traces', 'telemetry'] as const)('%s', async (path) => {
    const bodyOf = () =>
      ({
        evaluations: { name: 'nightly' },
        traces: { trace_id: randomUUID() },
        telemetry: { trace_id: randomUUID(), outcome: 'success' },
      })[path];
    const send = () => server.post(paths[path], key, { ...bodyOf(), agent_name: agent });
    await sql('INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, gen_random_uuid(), $2)', [tenantId, agent]);
    if (path === 'evaluations') expect(await send()).toMatchObject({ status: 503, body: { error: 'evidence_broken' } });
    agent = `bot-${randomUUID()}`;
    expect((await send()).status).toBe(200);
    await sql('DELETE FROM countersign.agents WHERE name = $1', [agent]);
    if (path !== 'evaluations') expect(await send()).toMatchObject({ status: 503, body: { error: 'evidence_broken' } });
  });
});

describe('an altered evidence log: the server makes no decision from altered events, and `ledger verify` reports them', () => {
  const attacks: [string, (id: string) => Promise<unknown>][] = [
    [
      'a changed event',
      (id) =>
        sql(
          `UPDATE countersign.evidence_events SET document = replace(document, '"pass_rate":12', '"pass_rate":99') WHERE document LIKE $1`,
          [`%${id}%`],
        ),
    ],
    [
      'a changed event with a recomputed hash',
      (id) =>
        sql(
          `UPDATE countersign.evidence_events SET document = replace(document, '"pass_rate":12', '"pass_rate":99'), event_hash = sha256(convert_to(E'countersign/evidence/v1\\n' || replace(document, '"pass_rate":12', '"pass_rate":99'), 'UTF8')) WHERE document LIKE $1`,
          [`%${id}%`],
        ),
    ],
    [
      'a deleted last event',
      () =>
        sql(
          'DELETE FROM countersign.evidence_events WHERE tenant_id = $1 AND seq = (SELECT max(seq) FROM countersign.evidence_events WHERE tenant_id = $1)',
          [tenantId],
        ),
    ],
    [
      'a deleted last event with the head moved back',
      async () => {
        await sql(
          'DELETE FROM countersign.evidence_events WHERE tenant_id = $1 AND seq = (SELECT max(seq) FROM countersign.evidence_events WHERE tenant_id = $1)',
          [tenantId],
        );
        await sql(
          `UPDATE countersign.log_heads SET seq = seq - 1, tree_size = tree_size - 1 WHERE tenant_id = $1 AND log = 'evidence'`,
          [tenantId],
        );
      },
    ],
    [
      'an appended event',
      () =>
        sql(
          `INSERT INTO countersign.evidence_events (tenant_id, seq, event_hash, document) SELECT tenant_id, seq + 1, event_hash, replace(document, '"pass_rate":12', '"pass_rate":99') FROM countersign.evidence_events WHERE tenant_id = $1 ORDER BY seq DESC LIMIT 1`,
          [tenantId],
        ),
    ],
  ];

  test.each(attacks)('%s', async (what, attack) => {
    const { body } = await evaluate(12);
    await sql('CREATE TABLE before_events AS TABLE countersign.evidence_events');
    await sql('CREATE TABLE before_heads AS TABLE countersign.log_heads');
    await attack(body.id);
    const freshServer = await testServer({ checkpointSeconds: undefined, database: server.database });
    const response = await check(freshServer);
    // An event after the head is outside the log: it has no effect, and verification reports it.
    if (what === 'an appended event')
      expect(response.body).toMatchObject({ allowed: false, reason: 'pass_rate_below_threshold' });
    else expect(response).toMatchObject({ status: 500, body: { error: 'log_rewritten' } });
    const verified = await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', 'victim', '--log', 'evidence');
    expect([verified.status, verified.out]).toEqual([1, expect.stringMatching(/^broken/)]);
    await sql('DELETE FROM countersign.evidence_events');
    await sql('INSERT INTO countersign.evidence_events SELECT * FROM before_events');
    await sql(`DELETE FROM countersign.log_heads WHERE log = 'evidence'`);
    await sql(`INSERT INTO countersign.log_heads SELECT * FROM before_heads WHERE log = 'evidence'`);
    await sql('DROP TABLE before_events, before_heads');
    expect((await check(freshServer)).body).toMatchObject({ allowed: false, reason: 'pass_rate_below_threshold' });
    await freshServer.stop();
  });
});
