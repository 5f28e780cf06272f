import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { statementForCitus } from '../../src/database/citus-statements.ts';
import { ShardGroup } from '../../src/database/shard-group.ts';
import { READ_PLACE, READ_REFERENCES, READ_VIEWS } from '../../src/database/tenant-nodes.ts';
import { FIND_KEYS } from '../../src/storage/ingestion-keys.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

/** Every statement that a module of the server names by `sql(...)`. */
const statements = vi.hoisted(() => new Map<string, string>());

vi.mock('../../src/database/transaction.ts', async (original) => {
  const actual = await original<typeof import('../../src/database/transaction.ts')>();
  return {
    ...actual,
    sql: (name: string, text: string) => {
      statements.set(name, text);
      return actual.sql(name, text);
    },
  };
});

const TENANT = '01890a5d-ac96-774b-bcce-b302099a8057';

/** Values by type of parameter. Every uuid is the tenant, which selects the shard. The plan does not depend on the other values. */
const VALUES: Record<string, string> = {
  uuid: TENANT,
  text: 'aa', // also valid as hexadecimal digits of a hash
  bytea: '\\x00',
  boolean: 'true',
  'timestamp with time zone': '2026-01-01T00:00:00Z',
  'double precision': '1',
};
const valueOfType = (type: string): string => (type.endsWith('[]') ? '{}' : (VALUES[type] ?? '1'));

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  // main.ts and the worker are left out, because they run when they are loaded.
  const modules = globSync('**/*.ts', { cwd: src, exclude: ['main.ts', 'http/body-worker.ts'] });
  await Promise.all(modules.map((module) => import(`${src}${module}`)));
  database = await cloneDatabase();
  // The owner runs every statement: the server's role may not run statements of retention. Row-level security applies to both roles.
  client = new pg.Client(database.owner);
  await client.connect();
  await client.query(`SET citus.propagate_set_commands = 'local'`);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

interface PlanNode {
  'Custom Plan Provider'?: string;
  'Relation Name'?: string;
  'Distributed Query'?: { Job: { 'Task Count': number } };
  Plans?: PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The nodes of the plan of a statement. */
async function planOf(text: string, planner: pg.Client = client): Promise<PlanNode[]> {
  await planner.query('BEGIN');
  try {
    await planner.query(`SET LOCAL countersign.tenant_id = '${TENANT}'`);
    await planner.query(`PREPARE statement AS ${text}`);
    const { rows } = await planner.query<{ types: string[] }>(
      `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'statement'`,
    );
    const values = rows[0]!.types.map((type) => pg.escapeLiteral(valueOfType(type))).join(', ');
    const { rows: plans } = await planner.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `EXPLAIN (FORMAT JSON) EXECUTE statement${values === '' ? '' : `(${values})`}`,
    );
    return nodesOf(plans[0]!['QUERY PLAN'][0]!.Plan);
  } finally {
    await planner.query('ROLLBACK');
    await planner.query('DEALLOCATE ALL');
  }
}

/** What is wrong with a plan; undefined for one task on one shard, and for a statement about tables of the coordinator. */
function faultOf(nodes: readonly PlanNode[]): string | undefined {
  const distributed = nodes.filter((node) => node['Custom Plan Provider']?.startsWith('Citus'));
  if (distributed.length === 0) return undefined;
  const tasks = distributed.map((node) => node['Distributed Query']?.Job['Task Count']);
  return distributed.length === 1 && tasks[0] === 1
    ? undefined
    : distributed.map((node, index) => `${node['Custom Plan Provider']} with ${tasks[index]} tasks`).join(', ');
}

/** Statements that control transactions and sessions have no plan. */
const HAS_NO_PLAN = /^(BEGIN|COMMIT|SET|DISCARD)\b/;

test('each statement of the server is one task on one shard, or uses only tables of the coordinator', async () => {
  const faults: string[] = [];
  for (const [name, text] of statements) {
    if (HAS_NO_PLAN.test(text)) continue;
    try {
      const fault = faultOf(await planOf(statementForCitus(text)));
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}`);
    }
  }
  expect(faults).toEqual([]);
  expect(statements.size).toBeGreaterThan(150);
});

/** Tables that are not distributed, and a sequence. Statements that name one of them run on the coordinator, except the lookup of keys. */
const NOT_ON_SHARDS =
  /countersign\.(?:tenants|people|memberships|ingestion_keys|sessions|one_time_links|sign_in_attempts|signing_keys|signing_key_\w+|instance|migrations|record_order)\b/;

test('each statement that uses only distributed tables can run on the shards of a tenant, without Citus', async () => {
  const { rows } = await client.query<{ host: string; port: number; table: string; shard: string }>(READ_PLACE, [TENANT]);
  const views = await client.query<{ view: string; query: string }>(READ_VIEWS);
  const references = await client.query<{ table: string; shard: string }>(READ_REFERENCES);
  const group = new ShardGroup({
    shards: new Map(rows.map(({ table, shard }) => [table, shard])),
    views: new Map(views.rows.map(({ view, query }) => [view, query])),
    references: new Map(references.rows.map(({ table, shard }) => [table, shard])),
  });
  const onWorker = new pg.Client({ ...database.owner, host: rows[0]!.host, port: rows[0]!.port });
  await onWorker.connect();
  const faults: string[] = [];
  let planned = 0;
  for (const [name, text] of statements) {
    if (HAS_NO_PLAN.test(text) || NOT_ON_SHARDS.test(text)) continue;
    const rewritten = group.rewriteForShards({ name, text });
    if (rewritten.name.length > 63) faults.push(`${rewritten.name}: longer than 63 characters`);
    try {
      const nodes = await planOf(rewritten.text, onWorker);
      if (nodes.some((node) => node['Custom Plan Provider'] !== undefined)) faults.push(`${name}: planned by Citus`);
      planned += 1;
    } catch (error) {
      faults.push(`${name}: ${(error as Error).message}`);
    }
  }
  const keys = await planOf(group.rewriteForReading(FIND_KEYS).text, onWorker);
  expect(keys.map((node) => node['Relation Name']).filter((name) => name !== undefined)).toEqual([
    expect.stringMatching(/^ingestion_keys_\d+$/),
    expect.stringMatching(/^log_heads_\d+$/),
  ]);
  await onWorker.end();
  expect(faults).toEqual([]);
  expect(planned).toBeGreaterThan(100);
});

test('faultOf reports a statement without a condition on the tenant', async () => {
  expect(faultOf(await planOf('SELECT count(*) FROM countersign.traces'))).toMatch(/Citus Adaptive with 4 tasks/);
});
