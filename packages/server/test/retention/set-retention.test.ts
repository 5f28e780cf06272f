import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ShortPeriodError, setRetention } from '../../src/workspace/set-retention.ts';
import { recordStatements } from '../fixtures/recorded-statements.ts';
import { environmentOf, ownerEnvironmentOf, runCommand, runForJson } from '../fixtures/run-command.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let environment: ReturnType<typeof environmentOf>;
let tenantId = '';
let admin: PortalClient;

beforeAll(async () => {
  server = await testServer();
  environment = environmentOf(server);
});
beforeEach(async () => {
  tenantId = await server.workspace();
  admin = await portalClient(server, tenantId, 'admin');
});

const run = (...args: string[]) => runCommand(environment, 'retention', args[0]!, '--workspace', tenantId, ...args.slice(1));
const set = (body: object) => admin.callRoute('retention.set', { body });
const entries = async () =>
  (
    await server.database.sql<{ document: string }>(
      `SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND action = 'retention.changed' ORDER BY seq`,
      [tenantId],
    )
  ).map(({ document }) => JSON.parse(document));

describe('retention', () => {
  test('has no limit before it is set', async () => {
    const viewer = await portalClient(server, tenantId, 'viewer');
    expect(await viewer.getResult('retention.read')).toEqual({
      trace_days: null,
      telemetry_days: null,
      confirm_below: 183,
      periods: [],
    });
  });

  test('is set by an admin, with a ledger entry of the periods before and after the change', async () => {
    expect((await set({ trace_days: 365 })).status).toBe(200);
    const facts = await admin.getResult('retention.set', { body: { telemetry_days: 200 } });
    expect(facts).toMatchObject({ trace_days: 365, telemetry_days: 200 });
    expect(facts.periods).toMatchObject([
      { trace_days: 365, telemetry_days: null },
      { trace_days: 365, telemetry_days: 200 },
    ]);
    expect(await entries()).toMatchObject([
      {
        recorded_by: `user:${admin.id}`,
        metadata: {
          before: { trace_days: null, telemetry_days: null },
          after: { trace_days: 365, telemetry_days: null },
        },
      },
      { metadata: { after: { trace_days: 365, telemetry_days: 200 } } },
    ]);
  });

  test('writes nothing if nothing changes', async () => {
    await set({ trace_days: 365 });
    await set({ trace_days: 365, telemetry_days: null });
    expect(await entries()).toHaveLength(1);
  });

  test('needs a confirmation to set a period of less than 183 days, but not to keep one', async () => {
    const refused = await set({ trace_days: 182 });
    expect([refused.status, refused.body.issues[0].message]).toEqual([409, expect.stringContaining('articles 19 and 26(6)')]);
    expect((await set({ trace_days: 183 })).status).toBe(200);
    expect((await set({ trace_days: 182, confirm_short: true })).status).toBe(200);
    expect((await set({ telemetry_days: 365 })).status).toBe(200);
  });

  test('reads the ledger once for concurrent changes', async () => {
    const pages = recordStatements(server.open.pool, 'read_audit_page');
    const setDays = (traceDays: number) =>
      setRetention(server.open.pool, tenantId, { traceDays, isShortConfirmed: false }, 'operator');
    expect([await Promise.all([200, 300, 400].map(setDays)), pages.length]).toEqual([[true, true, true], 1]);
    expect([await setDays(500), pages.length]).toEqual([true, 2]);
  });

  test('does not read the ledger for a short period that is not confirmed', async () => {
    const pages = recordStatements(server.open.pool, 'read_audit_page');
    await expect(
      setRetention(server.open.pool, tenantId, { traceDays: 10, isShortConfirmed: false }, 'operator'),
    ).rejects.toThrow(ShortPeriodError);
    expect(pages).toEqual([]);
  });

  test.each([0, -1, 1.5, 36_501, '90', true])('rejects %j days', async (days) => {
    const { status, body } = await set({ trace_days: days });
    expect([status, body.issues[0].path]).toEqual([422, '/trace_days']);
  });

  test('cannot be set by an approver, or by an admin of another workspace', async () => {
    const approver = await portalClient(server, tenantId, 'approver');
    expect((await approver.callRoute('retention.set', { body: { trace_days: 365 } })).status).toBe(403);
    const otherAdmin = await portalClient(server, await server.workspace(), 'admin');
    const inThisWorkspace = { params: { workspace: tenantId } };
    expect((await otherAdmin.callRoute('retention.read', inThisWorkspace)).status).toBe(404);
    expect((await otherAdmin.callRoute('retention.set', { ...inThisWorkspace, body: { trace_days: 365 } })).status).toBe(404);
    expect(await entries()).toEqual([]);
  });
});

describe('the command retention', () => {
  test('sets and shows the periods', async () => {
    expect(await runForJson(environment, 'retention', 'set', '--workspace', tenantId, '--traces', '365')).toEqual({
      changed: true,
      trace_days: 365,
      telemetry_days: null,
    });
    const { out, err } = await run('set', '--traces', 'forever', '--telemetry', '90', '--confirm-short');
    expect([out, err]).toEqual(['traces: forever\ntelemetry: 90 days\n', expect.stringContaining('from now on')]);
    expect((await run('show')).out).toMatch(/RECEIVED SINCE +TRACES +TELEMETRY\n.* 365 days +forever\n.* forever +90 days/);
  });

  test.each([
    ['without a value', [], /give --traces, --telemetry, or both/],
    ['with 0 days', ['--traces', '0'], /whole number of days from 1 to 36500/],
    ['with too many days', ['--telemetry', '99999'], /whole number of days/],
    ['with a short period and no confirmation', ['--traces', '90'], /--confirm-short/],
  ])('refuses to set periods %s, and the message names the remedy', async (_, options, message) => {
    const { status, err } = await run('set', ...options);
    expect(status).not.toBe(0);
    expect(err).toMatch(message);
  });

  test('names the variable to set if the role of the server may not drop records', async () => {
    await run('set', '--traces', '365');
    const { status, err } = await run('run');
    expect([status, err]).toEqual([9, expect.stringContaining('COUNTERSIGN_MIGRATE_DATABASE_URL')]);
  });
});

test('if `retention run` fails in one workspace, it names this workspace, and prints the results of the others', async () => {
  const [broken, intact] = [await server.workspace(), await server.workspace()];
  for (const id of [broken, intact])
    await setRetention(server.open.pool, id, { traceDays: 365, isShortConfirmed: false }, 'operator');
  await server.database.sql('ALTER TABLE countersign.retention_periods DISABLE TRIGGER append_only');
  await server.database.sql('UPDATE countersign.retention_periods SET trace_days = 1 WHERE tenant_id = $1', [broken]);
  await server.database.sql('ALTER TABLE countersign.retention_periods ENABLE ALWAYS TRIGGER append_only');
  const { status, out, err } = await runCommand(ownerEnvironmentOf(server), 'retention', 'run');
  expect([status, out.includes(intact), out.includes(broken)]).toEqual([9, true, false]);
  expect(err).toContain(`workspace ${broken}: `);
  const one = await runCommand(ownerEnvironmentOf(server), 'retention', 'run', '--workspace', broken, '--json');
  expect([one.status, one.out, JSON.parse(one.err).error]).toEqual([9, '', 'refused']);
});
