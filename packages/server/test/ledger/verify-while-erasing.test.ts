import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { verifyTraces } from '../../src/ledger/verify-traces.ts';
import { eraseRun } from '../../src/retention/erase-run.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { chatRun, id, jsonExport, newTrace } from '../otlp/exporter.ts';
import { exporter } from '../otlp/sending.ts';

let server: TestServer;
let owner: Pool;
let verifier: Pool;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  owner = openRolePool(server.database.owner, server.open, 'owner');
  verifier = openRolePool(server.database.server, server.open, 'verify');
});
afterAll(() => Promise.all([owner.end(), verifier.end()]));

/** Calls `act` before the transaction with this number that the verifier starts. Returns the number of transactions. */
async function verifyWith(tenantId: string, number: number, act: () => Promise<unknown>) {
  const connect = verifier.connect.bind(verifier) as () => Promise<unknown>;
  let transactions = 0;
  verifier.connect = (async () => {
    transactions += 1;
    if (transactions === number) await act();
    return connect();
  }) as never;
  try {
    const { findings, firstBad, contradiction } = await verifyTraces(verifier, tenantId);
    return { transactions, findings, firstBad, contradiction };
  } finally {
    verifier.connect = connect as never;
  }
}

test('`ledger verify` accepts runs that are erased between any two of its transactions', async () => {
  for (let number = 1, transactions = 1; number <= transactions; number += 1) {
    const tenantId = await server.workspace();
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
    const { transactions: count, ...report } = await verifyWith(tenantId, number, async () => {
      await erase(split);
      await erase(during);
    });
    expect({ number, ...report }).toEqual({ number, findings: [], firstBad: undefined, contradiction: undefined });
    transactions = count;
  }
});
