import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { evidenceStates } from '../../src/ledger/evidence-states.ts';
import { skeletonDigests } from '../../src/storage/similar-agents.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  await server.database.sql('ALTER TABLE countersign.agents DISABLE TRIGGER ALL');
});
beforeEach(async () => {
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

/** Inserts an agent as an attacker who owns the database. Returns its ID. */
async function insertAgent(name: string): Promise<string> {
  const id = randomUUID();
  const { asWritten, caseless } = skeletonDigests(name);
  await server.database.sql(
    `INSERT INTO countersign.agents (tenant_id, id, name, name_skeleton, name_skeleton_caseless, created_at)
     VALUES ($1, $2, $3, decode($4, 'hex'), decode($5, 'hex'), '2020-01-01')`,
    [tenantId, id, name, asWritten, caseless],
  );
  return id;
}

const register = (name: string) => server.post(paths.evaluations, key, { name: 'nightly', agent_name: name, pass_rate: 95 });
const decisionMessageFor = async (name: string): Promise<string> =>
  (await server.post(paths.promotionCheck, key, { agent_name: name })).body.message;

test('a signed decision suggests no agent that was inserted into the table', async () => {
  await register('refund-bot');
  await insertAgent('REFUND-BOT');
  const message = await decisionMessageFor('Refund-Bot');
  expect(message).toContain('did you mean "refund-bot"?');
  expect(message).not.toContain('REFUND-BOT');
});

test('a signed decision suggests no agent whose name digests were changed in the table', async () => {
  await register('refund-bot');
  await register('other');
  const { asWritten } = skeletonDigests('refund-bot');
  await server.database.sql(
    `UPDATE countersign.agents SET name_skeleton = decode($2, 'hex') WHERE tenant_id = $1 AND name = 'other'`,
    [tenantId, asWritten],
  );
  const message = await decisionMessageFor('Refund-Bot');
  expect(message).toContain('did you mean "refund-bot"?');
});

describe('an audit entry', () => {
  const append = (agent_id: string) => server.post(paths.audit, key, { actor: 'ci', action: 'deployed', agent_id });
  const idOf = async (name: string): Promise<string> =>
    (
      await server.database.sql<{ id: string }>('SELECT id FROM countersign.agents WHERE tenant_id = $1 AND name = $2', [
        tenantId,
        name,
      ])
    )[0]!.id;

  test('of an agent that was inserted into the table is rejected', async () => {
    await register('bot');
    const { status, body } = await append(await insertAgent('ghost'));
    expect([status, body.issues[0].code]).toEqual([422, 'unknown_agent']);
    expect((await append(await idOf('bot'))).status).toBe(200);
  });

  test('of an agent whose row was deleted is accepted, because the evidence log has the agent', async () => {
    await register('bot');
    const id = await idOf('bot');
    await server.database.sql('DELETE FROM countersign.agents WHERE tenant_id = $1', [tenantId]);
    expect((await append(id)).status).toBe(200);
  });

  test('of an agent is accepted directly after the agent was registered', async () => {
    for (const name of ['one', 'two', 'three']) {
      await register(name);
      const id = await idOf(name);
      expect((await Promise.all([append(id), append(id), append(id)])).map(({ status }) => status)).toEqual([200, 200, 200]);
    }
  });

  test('without an agent is accepted while the evidence log is broken, even in a batch with rejected entries of an agent', async () => {
    await register('bot');
    const id = await idOf('bot');
    await server.database.sql('ALTER TABLE countersign.evidence_events DISABLE TRIGGER ALL');
    await server.database.sql(`UPDATE countersign.evidence_events SET document = '{}' WHERE tenant_id = $1`, [tenantId]);
    await inTenantTransaction(server.open.pool, tenantId, async (tx) => evidenceStates.forget(tx));
    const note = { actor: 'ci', action: 'deployed' };
    const entries = [note, { ...note, agent_id: id }, note, { ...note, agent_id: id }, note, note];
    const responses = await Promise.all(entries.map((entry) => server.post(paths.audit, key, entry)));
    expect(responses.map(({ status, body }) => (status === 200 ? 200 : body.issues[0].code))).toEqual([
      200,
      'log_rewritten',
      200,
      'log_rewritten',
      200,
      200,
    ]);
  });
});
