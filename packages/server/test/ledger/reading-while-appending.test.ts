import { beforeAll, expect, test } from 'vitest';
import { inReadTransaction } from '../../src/database/transaction.ts';
import { evidenceStates } from '../../src/ledger/evidence-states.ts';
import { readSealedHead } from '../../src/ledger/sealed-heads.ts';
import { findOwnTenant } from '../../src/storage/tenants.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
});

const appendEvent = async () => {
  const { status } = await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 90 });
  expect(status).toBe(200);
};

test('a log that grows after the first statement of a read transaction is not mistaken for a restored log', async () => {
  await appendEvent();
  await inReadTransaction(server.open.readPool, workspace, async (tx) => {
    const before = await readSealedHead(tx, 'evidence');
    await appendEvent();
    const after = await readSealedHead(tx, 'evidence');
    expect(after.seq).toBeGreaterThan(before.seq);
    await appendEvent();
    expect(await evidenceStates.read(tx, ({ size }) => size)).toBeGreaterThan(after.seq);
  });
  const { status } = await fetch(`${server.url}/readyz`);
  expect(status).toBe(200);
});

test('a read transaction can read evidence that was appended after its first statement', async () => {
  await inReadTransaction(server.open.readPool, workspace, async (tx) => {
    await findOwnTenant(tx);
    await appendEvent();
    expect(await evidenceStates.read(tx, ({ agentCount }) => agentCount)).toBe(1);
  });
});
