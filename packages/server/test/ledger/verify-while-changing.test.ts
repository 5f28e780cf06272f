import type { ChainReport } from '@countersign/core/domain/chain-report';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { appendEvidence } from '../../src/ledger/evidence-log.ts';
import { verifyEvidence } from '../../src/ledger/verify-evidence.ts';
import { verifyTraces } from '../../src/ledger/verify-traces.ts';
import { eraseRun } from '../../src/retention/erase-run.ts';
import { correctClock } from '../../src/workspace/correct-clock.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { exporter } from '../otlp/sending.ts';
import { chatRun, id, jsonExport, newTrace } from '../otlp/test-exports.ts';

let server: TestServer;
let owner: Pool;
let verifier: Pool;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  owner = openRolePool(server.database.owner, server.open, 'owner');
  verifier = openRolePool(server.database.server, server.open, 'verify');
});
afterAll(() => Promise.all([owner.end(), verifier.end()]));

/** A verification of a workspace, and the change that is made while it runs. */
interface Case {
  change: () => Promise<unknown>;
  verify: () => Promise<ChainReport & { findings: readonly object[] }>;
}

/** Verifies, and calls `change` directly before transaction `number`, counted from 1. Returns the number of transactions and the result. */
async function verifyWithChange(number: number, { change, verify }: Case) {
  const connect = verifier.connect.bind(verifier) as () => Promise<unknown>;
  let transactions = 0;
  verifier.connect = (async () => {
    transactions += 1;
    if (transactions === number) await change();
    return connect();
  }) as never;
  try {
    const { findings, firstBad, contradiction } = await verify();
    return { transactions, findings, firstBad, contradiction };
  } finally {
    verifier.connect = connect as never;
  }
}

/**
 * Verifies a new workspace for each transaction of a verification, with the change directly before that transaction. Expects no finding.
 */
async function expectNoFinding(makeCase: (tenantId: string) => Promise<Case>): Promise<void> {
  for (let number = 1, count = 1; number <= count; number += 1) {
    const { transactions, ...report } = await verifyWithChange(number, await makeCase(await server.workspace()));
    expect({ number, ...report }).toEqual({ number, findings: [], firstBad: undefined, contradiction: undefined });
    count = transactions;
  }
}

test('`ledger verify` accepts runs that are erased between any two of its transactions', async () => {
  await expectNoFinding(async (tenantId) => {
    const { sendJson } = exporter(server, await server.key(tenantId));
    const send = async (...spans: Parameters<typeof jsonExport>[0]) =>
      expect((await sendJson(jsonExport(spans))).status).toBe(200);
    const erase = (traceId: string) => eraseRun(owner, tenantId, { traceId, rationale: 'request', evenIfHeld: false });
    const [before, split, during, remaining] = [newTrace(), newTrace(), newTrace(), newTrace()];
    await send(...chatRun(before), ...chatRun(remaining));
    // The agent of this run changes when its root arrives.
    const invoke = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'sub-bot' };
    await send({ traceId: split, spanId: id(9), parentSpanId: id(1), attributes: invoke });
    await send(...chatRun(split));
    await send(...chatRun(during), ...chatRun(newTrace()));
    await erase(before);
    const change = async () => {
      await erase(split);
      await erase(during);
    };
    return { change, verify: () => verifyTraces(verifier, tenantId) };
  });
});

test('`ledger verify` accepts a clock correction between any two of its transactions', async () => {
  await expectNoFinding(async (tenantId) => {
    const key = await server.key(tenantId);
    const record = async () =>
      expect((await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 90 })).status).toBe(200);
    await record();
    const [agent] = await server.database.sql<{ id: string }>('SELECT id FROM countersign.agents WHERE tenant_id = $1', [
      tenantId,
    ]);
    // The time of this event is an hour ahead of the clock.
    await inTenantTransaction(server.open.pool, tenantId, async (tx) => {
      const { evidence } = await lockLogs(tx, ['evidence']);
      const now = new Date(Date.now() + 3_600_000).toISOString();
      const fact = { agent_id: agent!.id, risk_level: 'low', recorded_by: 'operator' } as const;
      appendEvidence(tx, { ...evidence, now }, [{ action: 'agent.risk_set', ...fact }]);
    });
    const change = async () => {
      await correctClock(server.open.pool, tenantId, { write: true });
      await record();
    };
    return { change, verify: () => verifyEvidence(verifier, tenantId) };
  });
});
