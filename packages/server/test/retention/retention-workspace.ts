import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { RememberedHeads } from '../../src/ledger/remembered-heads.ts';
import { type DropOptions, dropDueRecords } from '../../src/retention/drop-due-records.ts';
import { type RetentionChange, setRetention } from '../../src/workspace/set-retention.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const DAY_MS = 86_400_000;

const event = (traceId: string) => ({ trace_id: traceId, outcome: 'success', metadata: { text: `secret of ${traceId}` } });

/** A new workspace for each test of a file, on the server of the file, and functions that send, drop and read its records. */
export class RetentionWorkspace {
  server!: TestServer;
  /** Connects as the role that owns the tables. */
  pool!: Pool;
  name = '';
  tenantId = '';
  key = '';

  constructor() {
    let rememberNoHead: { mockRestore(): void } | undefined;
    beforeAll(async () => {
      // With a remembered head, the time of a trace is estimated. On a busy machine it can be before the period that a test has just set.
      rememberNoHead = vi.spyOn(RememberedHeads.prototype, 'get').mockReturnValue(undefined);
      this.server = await testServer({ checkpointSeconds: undefined });
      this.pool = openRolePool(this.server.database.owner, this.server.open, 'retention');
    });
    afterAll(() => this.pool.end());
    afterAll(() => rememberNoHead?.mockRestore());
    beforeEach(async () => {
      this.name = `w-${Math.random()}`;
      this.tenantId = await this.server.workspace(this.name);
      this.key = await this.server.key(this.tenantId);
    });
  }

  readonly sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
    this.server.database.sql<Row>(text, values);

  readonly inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

  /** Drops what is due this many days from now. */
  readonly drop = (days: number, options: DropOptions = {}) =>
    dropDueRecords(this.pool, this.tenantId, { now: this.inDays(days), ...options });

  readonly keepFor = (change: Partial<RetentionChange>) =>
    setRetention(this.server.open.pool, this.tenantId, { isShortConfirmed: false, ...change }, 'operator');

  readonly sendTrace = async (traceId: string, members: object = {}) => {
    const trace = {
      trace_id: traceId,
      agent_name: 'bot',
      outcome: 'success',
      spans: [],
      metadata: { text: 'x'.repeat(4_000) },
      ...members,
    };
    const { status, body } = await this.server.post(paths.traces, this.key, trace);
    expect(status).toBe(200);
    return (body as { id: string }).id;
  };

  readonly sendTelemetry = async (...traceIds: string[]) =>
    expect((await this.server.post(paths.telemetry, this.key, { events: traceIds.map(event) })).status).toBe(200);

  /** The number of the workspace's rows in a table. */
  readonly count = async (table: string) =>
    (await this.sql<{ n: number }>(`SELECT count(*) AS n FROM countersign.${table} WHERE tenant_id = $1`, [this.tenantId]))[0]!.n;

  /** The trace_ids of the stored traces, sorted. */
  readonly traceIds = async () =>
    (
      await this.sql<{ trace_id: string }>('SELECT trace_id FROM countersign.traces WHERE tenant_id = $1 ORDER BY 1', [
        this.tenantId,
      ])
    ).map((row) => row.trace_id);

  /** The audit entries with this action, in order. */
  readonly entries = async (action: string) =>
    (
      await this.sql<{ document: string }>(
        'SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND action = $2 ORDER BY seq',
        [this.tenantId, action],
      )
    ).map(({ document }) => JSON.parse(document));

  /** The exit status of `ledger verify`, and its output if the log is not valid. */
  readonly verify = async (log: string) => {
    const args = ['ledger', 'verify', '--workspace', this.name, '--log', log];
    const { status, out } = await runCommand(environmentOf(this.server), ...args);
    return [status, status === 0 ? '' : out];
  };
}
