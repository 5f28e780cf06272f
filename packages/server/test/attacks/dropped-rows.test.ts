import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { environmentOf, ownerEnvironmentOf, runCommand } from '../fixtures/run-command.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

/** Creates the function of a trigger that an attacker with write access adds. It drops the rows that the server inserts or changes. */
const CREATE_DROP_ROW = 'CREATE FUNCTION public.drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$';

const AUDIT = { actor: 'ci', action: 'deployed' };
const EVALUATION = { name: 'n', agent_name: 'bot', status: 'passing', pass_rate: 95 };
const TRACE = { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] };
const LONG_TRACE = { ...TRACE, metadata: { text: 'x'.repeat(4_000) } };
const TELEMETRY = { events: [{ trace_id: 'run-1', outcome: 'success' }] };

let server: TestServer;
let name = '';
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  await server.database.sql(CREATE_DROP_ROW);
});
beforeEach(async () => {
  name = `w-${Math.random()}`;
  tenantId = await server.workspace(name);
  key = await server.key(tenantId);
  expect((await server.post(paths.evaluations, key, EVALUATION)).status).toBe(200);
});
afterAll(() => server.database.sql('DROP FUNCTION public.drop_row() CASCADE'));

/** Does the work while a trigger drops the rows of an operation on a table, such as `INSERT traces`. */
const whileDropping = async (dropped: string, work: () => Promise<void>) => {
  const [operation, table] = dropped.split(' ');
  await server.database.sql(
    `CREATE TRIGGER drops BEFORE ${operation} ON countersign.${table} FOR EACH ROW EXECUTE FUNCTION public.drop_row()`,
  );
  try {
    await work();
  } finally {
    await server.database.sql(`DROP TRIGGER drops ON countersign.${table}`);
  }
};

describe('while a trigger drops rows,', () => {
  test.each([
    ['INSERT audit_entries', paths.audit, AUDIT],
    ['UPDATE log_heads', paths.audit, AUDIT],
    ['INSERT decisions', paths.promotionCheck, { agent_name: 'bot' }],
    ['INSERT evaluations', paths.evaluations, EVALUATION],
    ['INSERT evidence_events', paths.evaluations, EVALUATION],
    ['INSERT telemetry_submissions', paths.telemetry, TELEMETRY],
    ['INSERT telemetry_events', paths.telemetry, TELEMETRY],
    ['INSERT traces', paths.traces, { ...TRACE, trace_id: 'run-2' }],
    ['INSERT trace_submissions', paths.traces, TRACE],
    ['INSERT trace_events', paths.traces, TRACE],
    ['INSERT document_segments', paths.traces, LONG_TRACE],
  ] as const)(
    '%s: no request is acknowledged; afterwards, requests succeed and the logs are valid',
    async (dropped, path, body) => {
      // After these requests, the server remembers the heads of the trace log and the ledger. A batch that reads nothing is then sent
      // together with its COMMIT.
      const send = () => server.post(path, key, body, { 'Idempotency-Key': dropped.replace(' ', '-') });
      for (const first of [TRACE, AUDIT]) await server.post(first === TRACE ? paths.traces : paths.audit, key, first);
      await whileDropping(dropped, async () => {
        for (const request of [send, send, () => server.post(path, key, body)]) {
          const response = await request();
          expect([response.status, response.body]).toEqual([503, { error: 'unavailable', issues: [] }]);
        }
      });
      const repeated = await send();
      expect([repeated.status, repeated.headers.get('Idempotent-Replayed')]).toEqual([200, null]);
      expect(await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', name, '--log', 'all')).toMatchObject({
        status: 0,
      });
    },
  );

  test('an act in the portal gets 503, and a command names the cause and exits with 9', async () => {
    const { browser } = await createPerson(server, { [tenantId]: 'admin' });
    const change = { trace_days: 365 };
    const setPeriods = () => browser.call('PATCH', `/workspaces/${tenantId}/settings/retention`, change);
    await whileDropping('INSERT audit_entries', async () => {
      expect(await setPeriods()).toMatchObject({ status: 503, body: { error: 'unavailable' } });
      const command = ['agents', 'risk', '--workspace', name, '--agent', 'bot', 'high'];
      const { status, err } = await runCommand(ownerEnvironmentOf(server), ...command);
      expect([status, err]).toEqual([9, expect.stringContaining('the database has not stored all rows: a trigger')]);
      expect(err).not.toContain('internal error');
    });
    expect((await setPeriods()).status).toBe(200);
  });
});
