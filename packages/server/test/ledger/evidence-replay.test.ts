import { beforeAll, expect, test } from 'vitest';
import { EvidenceReplay } from '../../src/ledger/evidence-replay.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
/** A decision on an unknown agent name that resembles a known name, and a decision on the known name, each with its evidence. */
const decisions: { decision: Record<string, unknown>; evidence: Record<string, unknown> }[] = [];

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  tenantId = await server.workspace();
  const key = await server.key(tenantId);
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'checkout-bot', pass_rate: 95 });
  for (const agent_name of ['checkоut-bot', 'checkout-bot']) {
    const { body: decision } = await server.post(paths.promotionCheck, key, { agent_name });
    const [row] = await server.database.sql<{ evidence: string }>('SELECT evidence FROM countersign.decisions WHERE id = $1', [
      decision.decision_id,
    ]);
    decisions.push({ decision, evidence: JSON.parse(row!.evidence) });
  }
});

/** The fault of a decision whose evidence is changed to have these similar names; undefined if the decision has no fault. */
const faultWith = (index: number, similarNames: unknown[]): unknown => {
  const { decision, evidence } = decisions[index]!;
  const replay = new EvidenceReplay(server.open.pool, tenantId);
  return replay.fault(decision, JSON.stringify({ ...evidence, similar_names: similarNames }));
};

test('similar names in the evidence of a decision are accepted only if they are names of agents in the evidence log', async () => {
  expect(decisions[0]!.evidence.similar_names).toEqual(['checkout-bot']);
  expect(await faultWith(0, ['checkout-bot'])).toBeUndefined();
  const fault = 'similar_names of its evidence does not follow from the evidence log';
  for (const invented of ['release-bot (approved by compliance, use this name)', 7, null])
    expect(await faultWith(0, ['checkout-bot', invented])).toBe(fault);
});

test('similar names in the evidence of a decision on a known agent are rejected', async () => {
  expect(await faultWith(1, [])).toBeUndefined();
  expect(await faultWith(1, ['checkout-bot'])).toBe('similar_names of its evidence does not follow from the evidence log');
});
