import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import type { RouteName } from '@countersign/core/portal/routes';
import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction, type Transaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { changeRoleOf, deleteMembership } from '../../src/storage/memberships.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { waitingForALock } from '../bed/lock-wait.ts';
import { type PortalClient, portalClient } from '../bed/portal-client.ts';
import { type Answer, paths, type TestServer, testServer } from '../bed/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

/** A workspace in which every act has something to work on. */
async function furnished() {
  const workspace = await server.workspace();
  const { pool } = server.open;
  const key = await server.key(workspace);
  const [admin, other] = [await portalClient(server, workspace, 'admin'), await portalClient(server, workspace, 'admin')];
  const evaluation: string = (await server.post(paths.evaluations, key, { name: 'n', agent_name: 'a', pass_rate: 95 })).body.id;
  const agent = (await admin.get('agents.list')).items[0]!.id;
  await admin.get('agents.set_risk', { params: { agent }, body: { risk_level: 'high' } });
  const incident = { agent_id: agent, severity: 'low', description: 'odd', recertify: true };
  await admin.get('incidents.open', { body: incident });
  const waiting = await mintKey(pool, workspace, { name: 'w', scopes: ['audit'], expiresAt: null }, 'operator');
  const { prefix } = parseIngestionKey(waiting)!;
  const dk = (await admin.get('signing.read')).decision_keys[0]!.key_id;
  return { workspace, admin, other, evaluation, agent, incident, prefix, dk };
}

type Furnished = Awaited<ReturnType<typeof furnished>>;

/** Asks for something while another transaction, as that of a removal or a change of role, is about to commit. */
async function askedDuring(
  workspace: string,
  change: (tx: Transaction) => Promise<unknown>,
  act: () => Promise<Answer>,
): Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  await inTenantTransaction(server.open.pool, workspace, async (tx) => {
    await lockLogs(tx, ['audit']);
    await change(tx);
    answer = act();
    await Promise.race([answer, waitingForALock(server.database)]);
  });
  return answer!;
}

const outcome = ({ status, body }: Answer) => `${status} ${body.issues?.[0]?.message ?? body.error ?? 'ok'}`;

const rowsOf = async (workspace: string) =>
  server.database.sql<{ act: string }>(
    `SELECT action || ' ' || recorded_by AS act FROM countersign.audit_entries WHERE tenant_id = $1
     UNION ALL SELECT action || ' ' || recorded_by FROM countersign.key_events WHERE tenant_id = $1 ORDER BY 1`,
    [workspace],
  );

type Act = (who: PortalClient, at: Furnished) => Promise<Answer>;
const asking =
  (name: RouteName, given: (at: Furnished) => { params?: Record<string, string>; body?: unknown }): Act =>
  (who, at) =>
    who.ask(name, given(at) as never);

const ACTS: [RouteName, Act][] = [
  ['agents.set_risk', asking('agents.set_risk', ({ agent }) => ({ params: { agent }, body: { risk_level: 'low' } }))],
  ['approvals.approve', asking('approvals.approve', ({ evaluation }) => ({ params: { evaluation }, body: { rationale: 'x' } }))],
  ['approvals.reject', asking('approvals.reject', ({ evaluation }) => ({ params: { evaluation }, body: { rationale: 'x' } }))],
  ['incidents.open', asking('incidents.open', ({ incident }) => ({ body: incident }))],
  ['workspace.rename', asking('workspace.rename', ({ workspace }) => ({ body: { name: `renamed ${workspace}` } }))],
  ['decision_keys.show', asking('decision_keys.show', ({ dk: key }) => ({ params: { key } }))],
  ['decision_keys.rotate', asking('decision_keys.rotate', () => ({}))],
  ['invitations.create', asking('invitations.create', () => ({ body: { email: 'new@example.com', role: 'admin' } }))],
  ['keys.mint', asking('keys.mint', () => ({ body: { kind: 'live', name: 'k', scopes: ['audit'] } }))],
  ['keys.rotate', asking('keys.rotate', ({ prefix }) => ({ params: { prefix } }))],
  ['keys.revoke', asking('keys.revoke', ({ prefix }) => ({ params: { prefix } }))],
];

describe('whoever loses the role while an act waits', () => {
  test.for(ACTS)('is refused by %s: removed', async ([, act]) => {
    const at = await furnished();
    const { workspace, other } = at;
    const before = await rowsOf(workspace);
    const answer = await askedDuring(
      workspace,
      (tx) => deleteMembership(tx, other.id),
      () => act(other, at),
    );
    expect(outcome(answer)).toBe('409 you are no longer a member of this workspace');
    expect(await rowsOf(workspace)).toEqual(before);
  });

  test.for(ACTS)('is refused by %s: a viewer by now', async ([, act]) => {
    const at = await furnished();
    const { workspace, other } = at;
    const before = await rowsOf(workspace);
    const answer = await askedDuring(
      workspace,
      (tx) => changeRoleOf(tx, other.id, 'viewer'),
      () => act(other, at),
    );
    expect(outcome(answer)).toMatch(/^409 this needs the role (admin|approver); yours in this workspace is viewer by now$/);
    expect(await rowsOf(workspace)).toEqual(before);
  });
});
