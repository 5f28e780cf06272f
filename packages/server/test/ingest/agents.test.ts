import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

/** Requests to three endpoints that register agents: name, path, and a function that returns a body without an agent. */
const RECORDS = [
  ['a trace', paths.traces, () => ({ trace_id: randomUUID() })],
  ['a telemetry event', paths.telemetry, () => ({ trace_id: randomUUID(), outcome: 'success' })],
  ['an evaluation', paths.evaluations, () => ({ name: 'nightly' })],
] as const;

const agentsNamed = (...names: string[]) =>
  server.database.sql<{ id: string; name: string; tenant_id: string }>(
    'SELECT id, name, tenant_id FROM countersign.agents WHERE name = ANY ($1::text[]) ORDER BY name',
    [names],
  );
const statusAndIssues = ({ status, body }: TestResponse) => [
  status,
  ...(body.issues ?? []).map(({ path, code }: Record<string, string>) => `${path} ${code}`),
];

describe('agents', () => {
  test.each(RECORDS)('an unknown agent name in %s registers the agent once', async (what, path, record) => {
    const name = `registered by ${what}`;
    for (let sentCount = 0; sentCount < 3; sentCount += 1)
      expect((await server.post(path, key, { ...record(), agent_name: name })).status).toBe(200);
    expect(await agentsNamed(name)).toHaveLength(1);
  });

  test('a trace, a telemetry event and an evaluation with the same agent name belong to the same agent', async () => {
    for (const [, path, record] of RECORDS) await server.post(path, key, { ...record(), agent_name: 'everywhere' });
    const [agent, ...otherAgents] = await agentsNamed('everywhere');
    expect(otherAgents).toEqual([]);
    const tables = ['traces', 'telemetry_events', 'evaluations'].map((table) => `SELECT agent_id FROM countersign.${table}`);
    const rows = await server.database.sql(
      `SELECT count(*)::int AS n FROM (${tables.join(' UNION ALL ')}) AS r WHERE agent_id = $1`,
      [agent!.id],
    );
    expect(rows).toEqual([{ n: 3 }]);
  });

  test('are found by their exact name only', async () => {
    const names = ['Letter', 'letter', 'l\u0435tter', 'letter\u00e9', 'lettere', '\u{1F600}'.repeat(512)];
    for (const agent_name of names)
      expect(statusAndIssues(await server.post(paths.evaluations, key, { name: 'n', agent_name }))).toEqual([200]);
    expect((await agentsNamed(...names)).map(({ name }) => name).sort()).toEqual(names.toSorted());
  });

  test.each(RECORDS)(
    'an unknown ID with an unknown name in %s registers the agent; later, another name for the ID or another ID for the name is rejected',
    async (what, path, record) => {
      const [id, name] = [randomUUID(), `under an id by ${what}`];
      expect(
        statusAndIssues(await server.post(path, key, { ...record(), agent_id: id.toUpperCase(), agent_name: name })),
      ).toEqual([200]);
      expect(await agentsNamed(name)).toMatchObject([{ id }]);
      expect(statusAndIssues(await server.post(path, key, { ...record(), agent_id: id }))).toEqual([200]);
      expect(statusAndIssues(await server.post(path, key, { ...record(), agent_name: name }))).toEqual([200]);
      expect(statusAndIssues(await server.post(path, key, { ...record(), agent_id: id, agent_name: name }))).toEqual([200]);
      expect(statusAndIssues(await server.post(path, key, { ...record(), agent_id: id, agent_name: 'other' }))).toEqual([
        422,
        '/agent_name agent_mismatch',
      ]);
      expect(statusAndIssues(await server.post(path, key, { ...record(), agent_id: randomUUID(), agent_name: name }))).toEqual([
        422,
        '/agent_id agent_mismatch',
      ]);
    },
  );

  test('an unknown ID without a name is rejected, and the message says what to add or leave out', async () => {
    const id = randomUUID();
    const remedyOf = async (path: string, record: object) => {
      const { status, body } = await server.post(path, key, { ...record, agent_id: id });
      expect([status, body.issues.length, body.issues[0].code]).toEqual([422, 1, 'unknown_agent']);
      return body.issues[0].message.split('; ')[1];
    };
    for (const [, path, record] of RECORDS) {
      expect(await remedyOf(path, record())).toBe('also send agent_name, to register the agent');
    }
    const entry = { actor: 'ci', action: 'agent.promoted' };
    expect(await remedyOf(paths.audit, entry)).toBe('leave it out, and name the agent in subject or metadata');
    const named = { ...entry, subject: 'support-bot', metadata: { agent: 'support-bot' } };
    expect((await server.post(paths.audit, key, named)).status).toBe(200);
  });

  test('an event can refer by ID or name to an agent that an earlier event of the batch registers', async () => {
    const id = randomUUID();
    const event = { trace_id: randomUUID(), outcome: 'success' };
    const batch = (...agents: object[]) =>
      server.post(paths.telemetry, key, { events: agents.map((agent) => ({ ...event, ...agent })) });
    expect(
      statusAndIssues(
        await batch({ agent_id: id, agent_name: 'in one batch' }, { agent_id: id }, { agent_name: 'in one batch' }),
      ),
    ).toEqual([200]);
    expect(await agentsNamed('in one batch')).toMatchObject([{ id }]);
  });

  test('the ID of an agent of another workspace is unknown, and a new agent can be registered with this ID', async () => {
    const otherWorkspace = await server.workspace();
    const otherKey = await server.key(otherWorkspace);
    const id = randomUUID();
    await server.post(paths.evaluations, key, { name: 'n', agent_id: id, agent_name: 'first owner' });
    for (const [, path, record] of RECORDS)
      expect(statusAndIssues(await server.post(path, otherKey, { ...record(), agent_id: id }))).toEqual([
        422,
        '/agent_id unknown_agent',
      ]);
    expect(statusAndIssues(await server.post(paths.audit, otherKey, { actor: 'a', action: 'b', agent_id: id }))).toEqual([
      422,
      '/agent_id unknown_agent',
    ]);
    expect((await server.post(paths.promotionCheck, otherKey, { agent_id: id })).body).toMatchObject({
      reason: 'no_recent_evaluation',
      agent_id: null,
    });
    expect(
      statusAndIssues(await server.post(paths.traces, otherKey, { trace_id: 't', agent_id: id, agent_name: 'second owner' })),
    ).toEqual([200]);
    expect(await agentsNamed('first owner', 'second owner')).toEqual([
      { id, name: 'first owner', tenant_id: tenantId },
      { id, name: 'second owner', tenant_id: otherWorkspace },
    ]);
  });

  test('a promotion check registers no agent', async () => {
    const before = await server.database.sql('SELECT count(*) FROM countersign.agents');
    for (const question of [
      { agent_name: 'nobody' },
      { agent_id: randomUUID() },
      { agent_id: randomUUID(), agent_name: 'nobody' },
    ])
      expect((await server.post(paths.promotionCheck, key, question)).body).toMatchObject({
        allowed: false,
        reason: 'no_recent_evaluation',
      });
    expect(await server.database.sql('SELECT count(*) FROM countersign.agents')).toEqual(before);
  });

  test('a trace without an agent gets the agent of a later submission and keeps it', async () => {
    const post = (members: object) => server.post(paths.traces, key, { trace_id: 'finds its agent', ...members });
    expect(statusAndIssues(await post({}))).toEqual([200]);
    expect(statusAndIssues(await post({ agent_name: 'its agent' }))).toEqual([200]);
    expect(statusAndIssues(await post({}))).toEqual([200]);
    expect(statusAndIssues(await post({ agent_name: 'another' }))).toEqual([422, '/agent_name agent_mismatch']);
    expect(await agentsNamed('another')).toEqual([]);
    const [row] = await server.database.sql(
      `SELECT a.name, submission_count FROM countersign.traces AS t JOIN countersign.agents AS a USING (tenant_id)
        WHERE a.id = t.agent_id AND trace_id = 'finds its agent'`,
    );
    expect(row).toEqual({ name: 'its agent', submission_count: 3 });
  });

  test('a harness ID is stored in lower case and needs no registration', async () => {
    const harness = randomUUID();
    await server.post(paths.evaluations, key, {
      name: 'n',
      agent_name: 'harnessed',
      pass_rate: 95,
      harness_id: harness.toUpperCase(),
    });
    const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'harnessed', harness_id: harness.toUpperCase() });
    expect(body).toMatchObject({ allowed: true, evaluation: { harness_id: harness } });
  });
});
