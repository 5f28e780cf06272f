import { randomUUID } from 'node:crypto';
import type { EvidenceEvent } from '@countersign/core/domain/evidence-event';
import { EvidenceState } from '@countersign/core/domain/evidence-state';
import { expect, test } from 'vitest';
import type { Transaction } from '../../src/database/transaction.ts';
import { DistinctQuestions } from '../../src/ingest/verdicts.ts';

const tenantId = randomUUID();
const registrationOf = (seq: number, agent_name: string): EvidenceEvent => ({
  version: 1,
  tenant_id: tenantId,
  seq,
  recorded_at: '2026-11-20T12:00:00.000Z',
  recorded_by: 'key:4f9a02c7d1e6',
  action: 'agent.registered',
  agent_id: randomUUID(),
  agent_name,
});

test('a decision suggests no agent that was registered after its evidence was read', async () => {
  const state = new EvidenceState();
  state.apply(registrationOf(1, 'refund-bot'));
  const distinct = new DistinctQuestions();
  distinct.indexOf({ agent_id: null, agent_name: 'Refund-Bot', harness_id: null, max_age_hours: 72, min_pass_rate: 80 });
  const evidence = distinct.lookUp(state, '2026-11-20T12:00:00.000000Z');
  state.apply(registrationOf(2, 'REFUND-BOT'));
  const rows = ['refund-bot', 'REFUND-BOT'].map((name) => ({ place: 0, name }));
  const tx = { tenantId, run: async () => rows } as unknown as Transaction;
  expect(await distinct.decide(tx, evidence)).toMatchObject([{ evidence: { similar_names: ['refund-bot'] } }]);
  expect(evidence.size).toBe(1);
});
