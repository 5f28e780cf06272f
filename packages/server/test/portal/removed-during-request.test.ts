import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import type { PortalRoute, Role } from '@countersign/core/portal/route';
import { PORTAL_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction, type Transaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { changeRoleOf, deleteMembership } from '../../src/storage/memberships.ts';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { decisionOn, portalClient } from '../harness/portal-client.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
/** Shared by all tests, because each act is rejected and changes nothing. */
let records: WorkspaceWithRecords;

beforeAll(async () => {
  server = await testServer();
  records = await createWorkspaceWithRecords();
});

/** Creates a workspace with a record for every act. */
async function createWorkspaceWithRecords() {
  const workspace = await server.workspace();
  const { pool } = server.open;
  const key = await server.key(workspace);
  const signIn = (role: Role) => portalClient(server, workspace, role);
  const [admin, member] = await Promise.all([signIn('admin'), signIn('viewer')]);
  const evaluate = async (agent_name: string): Promise<string> =>
    (await server.post(paths.evaluations, key, { name: 'n', agent_name, pass_rate: 95 })).body.id;
  const [evaluation, approved] = [await evaluate('a'), await evaluate('b')];
  const agents = (await admin.getResult('agents.list')).items;
  for (const { id } of agents) await admin.getResult('agents.set_risk', { params: { agent: id }, body: { risk_level: 'high' } });
  await admin.getResult('approvals.approve', { params: { evaluation: approved }, body: await decisionOn(admin, approved) });
  const decision = await decisionOn(admin, evaluation);
  const withdrawal = await decisionOn(admin, approved);
  const agent = agents.find(({ name }) => name === 'a')!.id;
  const incident = { agent_id: agent, severity: 'low', description: 'odd', recertify: true };
  await admin.getResult('incidents.open', { body: incident });
  const mintedKey = await mintKey(pool, workspace, { name: 'w', scopes: ['audit'], expiresAt: null }, 'operator');
  const { prefix } = parseIngestionKey(mintedKey)!;
  const decisionKeyId = (await admin.getResult('signing.read')).decision_keys[0]!.key_id;
  await admin.getResult('invitations.create', { body: { email: 'waits@example.com', role: 'viewer' } });
  const invitation = (await admin.getResult('invitations.list')).items[0]!.id;
  return {
    workspace,
    member: member.id,
    evaluation,
    approved,
    decision,
    withdrawal,
    agent,
    incident,
    prefix,
    decisionKeyId,
    invitation,
  };
}

type WorkspaceWithRecords = Awaited<ReturnType<typeof createWorkspaceWithRecords>>;

/** Makes a request while another transaction, which removes a member or changes a role, is about to commit. */
async function requestDuring(
  workspace: string,
  change: (tx: Transaction) => Promise<unknown>,
  act: () => Promise<TestResponse>,
): Promise<TestResponse> {
  let response: Promise<TestResponse> | undefined;
  await inTenantTransaction(server.open.pool, workspace, async (tx) => {
    await lockLogs(tx, ['audit']);
    await change(tx);
    response = act();
    await Promise.race([response, waitForBlockedStatements(server.database)]);
  });
  return response!;
}

const outcome = ({ status, body }: TestResponse) => `${status} ${body.issues?.[0]?.message ?? body.error ?? 'ok'}`;

const recordedActsOf = async (workspace: string) =>
  server.database.sql<{ act: string }>(
    `SELECT action || ' ' || recorded_by AS act FROM countersign.audit_entries WHERE tenant_id = $1
     UNION ALL SELECT action || ' ' || recorded_by FROM countersign.key_events WHERE tenant_id = $1 ORDER BY 1`,
    [workspace],
  );

type RequestInput = { params?: Record<string, string>; body?: unknown };

/** Every act that requires a certain role, with its request. `members.leave` is left out, because every member may leave. */
const ACTS: Partial<Record<RouteName, (at: WorkspaceWithRecords) => RequestInput>> = {
  'members.change_role': ({ member: person }) => ({ params: { person }, body: { role: 'approver' } }),
  'members.remove': ({ member: person }) => ({ params: { person } }),
  'members.reset_password': ({ member: person }) => ({ params: { person } }),
  'invitations.create': () => ({ body: { email: 'new@example.com', role: 'admin' } }),
  'invitations.withdraw': ({ invitation }) => ({ params: { invitation } }),
  'retention.set': () => ({ body: { trace_days: 365 } }),
  'workspace.rename': ({ workspace }) => ({ body: { name: `renamed ${workspace}` } }),
  'agents.set_risk': ({ agent }) => ({ params: { agent }, body: { risk_level: 'low' } }),
  'agents.set_archived': ({ agent }) => ({ params: { agent }, body: { archived: true } }),
  'approvals.approve': ({ evaluation, decision: body }) => ({ params: { evaluation }, body }),
  'approvals.reject': ({ evaluation, decision: body }) => ({ params: { evaluation }, body }),
  'approvals.withdraw': ({ approved: evaluation, withdrawal: body }) => ({ params: { evaluation }, body }),
  'incidents.open': ({ incident }) => ({ body: incident }),
  'recertifications.close': ({ agent }) => ({ params: { agent }, body: { rationale: 'x', seen: '0'.repeat(64) } }),
  'violations.record': ({ agent }) => ({ body: { agent_id: agent, policy: 'p', severity: 'low', description: 'd' } }),
  'keys.mint': () => ({ body: { kind: 'live', name: 'k', scopes: ['audit'] } }),
  'keys.rotate': ({ prefix }) => ({ params: { prefix } }),
  'keys.revoke': ({ prefix }) => ({ params: { prefix } }),
  'keys.change_scopes': ({ prefix }) => ({ params: { prefix }, body: { scopes: ['telemetry'] } }),
  'decision_keys.show': ({ decisionKeyId: key }) => ({ params: { key } }),
  'decision_keys.rotate': () => ({}),
  'decision_keys.retire': ({ decisionKeyId: key }) => ({ params: { key } }),
};
const NAMES = Object.keys(ACTS) as RouteName[];

test('ACTS covers every act that requires a certain role', () => {
  const acts = Object.entries<PortalRoute>(PORTAL_ROUTES).filter(
    ([name, { method, path }]) => method !== 'GET' && path.includes('/:workspace/') && name !== 'members.leave',
  );
  expect([...NAMES].sort()).toEqual(acts.map(([name]) => name).sort());
});

describe('a member who loses the role while an act waits', () => {
  test.for(NAMES)('cannot perform %s after being removed', async (name) => {
    const { workspace } = records;
    const otherAdmin = await portalClient(server, workspace, 'admin');
    const before = await recordedActsOf(workspace);
    const response = await requestDuring(
      workspace,
      (tx) => deleteMembership(tx, otherAdmin.id),
      () => otherAdmin.callRoute(name, ACTS[name]!(records) as never),
    );
    expect(outcome(response)).toBe('409 you are no longer a member of this workspace');
    expect(await recordedActsOf(workspace)).toEqual(before);
  });

  test.for(NAMES)('cannot perform %s after becoming a viewer', async (name) => {
    const { workspace } = records;
    const otherAdmin = await portalClient(server, workspace, 'admin');
    const before = await recordedActsOf(workspace);
    const response = await requestDuring(
      workspace,
      (tx) => changeRoleOf(tx, otherAdmin.id, 'viewer'),
      () => otherAdmin.callRoute(name, ACTS[name]!(records) as never),
    );
    expect(outcome(response)).toMatch(
      /^409 this action requires the role (admin|approver); your role in this workspace is now viewer$/,
    );
    expect(await recordedActsOf(workspace)).toEqual(before);
  });
});
