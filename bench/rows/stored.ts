import { reseal } from '../../packages/server/test/harness/sealed.ts';
import type { BenchEnvironment } from '../environment.ts';
import { alternate, type RoundOptions, type Row } from '../rounds.ts';
import { measuresOf } from './requests.ts';

/** Compares the same work on two databases, alternately: one with many rows, the other almost empty. Each has its own server. */
export async function compareFilledDatabase(
  almostEmpty: BenchEnvironment,
  filled: BenchEnvironment,
  entryCount: number,
  options: RoundOptions,
): Promise<Row[]> {
  await fill(filled, entryCount);
  const [onAlmostEmpty, onFilled] = [measuresOf(almostEmpty), measuresOf(filled)];
  const results: Row[] = [];
  for (const kind of ['traces', 'telemetry', 'audit', 'promotion'] as const) {
    const title = {
      work: `${kind}, ${entryCount} audit entries stored`,
      limit: 'the same with few entries stored',
      unit: '/s',
      target: { required: 0.9, stretch: 0.98 },
    };
    results.push(await alternate(title, options, onFilled[kind], onAlmostEmpty[kind]));
  }
  return results;
}

/**
 * Fills the tables of the workspace: `rows` audit entries, decisions and telemetry events, a tenth as many evaluations and traces, and the
 * submissions of the traces and events. Hashes link the audit entries but are arbitrary, because only tables and indexes are measured.
 */
async function fill({ superuser, tenantId, database }: BenchEnvironment, rows: number): Promise<void> {
  for (const statement of FILL_STATEMENTS) {
    process.stderr.write(`filling: ${/INTO (\S+)/.exec(statement)?.[1] ?? statement.slice(0, 40)}\n`);
    await superuser.query(statement.replaceAll('$tenant', `'${tenantId}'::uuid`).replaceAll('$rows', String(rows)));
  }
  await reseal(database.pool, tenantId);
}

const AGENT = `(SELECT id FROM countersign.agents WHERE tenant_id = $tenant AND name = 'careful-bot')`;
const hash = (n: string): string => `sha256(('row ' || ${n})::bytea)`;
const seqAfter = (log: string): string => `(SELECT seq FROM countersign.log_heads WHERE tenant_id = $tenant AND log = '${log}')`;

/**
 * Returns SQL that moves a head to the last row. The frontier gets arbitrary hashes, as many as for a tree over all rows. With too few
 * hashes, the first append would build the missing tree.
 */
const moveHead = (log: string, rowHash = ''): string =>
  `UPDATE countersign.log_heads SET seq = $rows, ${rowHash} tree_size = $rows,
     frontier = decode(repeat('ab', 32 * bit_count($rows::bigint::bit(64))::integer), 'hex') WHERE tenant_id = $tenant AND log = '${log}'`;

/** The facts of ten steps of a run, in the form of the column `spans` (storage/spans.ts). */
const TEN_SPANS = JSON.stringify(
  Array.from({ length: 10 }, (_, n) => [`span-${n}`, 'llm', 'plan', 'success', null, null, null, null, 100]),
);

const FILL_STATEMENTS = [
  // Row-level security does not apply to the superuser, and no trigger rejects an INSERT.
  `INSERT INTO countersign.audit_entries (tenant_id, seq, id, recorded_at, recorded_by, actor, action, prev_hash, row_hash, document)
   SELECT $tenant, n, gen_random_uuid(), clock_timestamp(), 'key:000000000000', 'ci:deploy-prod', 'agent.promoted',
     CASE WHEN n > 1 THEN ${hash('n - 1')} END, ${hash('n')}, repeat('x', 600)
     FROM generate_series(${seqAfter('audit')} + 1, $rows) AS n`,
  moveHead('audit', `row_hash = ${hash('$rows')},`),
  `INSERT INTO countersign.decisions (tenant_id, seq, id, recorded_at, recorded_by, agent_id, allowed, reason, event, response_sha256, document, evidence)
   SELECT $tenant, n, gen_random_uuid(), clock_timestamp(), 'key:000000000000', ${AGENT}, true, 'all_conditions_met', 'promotion.allowed',
     ${hash('n')}, repeat('x', 600), '{}' FROM generate_series(${seqAfter('decisions')} + 1, $rows) AS n`,
  moveHead('decisions'),
  `INSERT INTO countersign.evaluations (tenant_id, id, recorded_at, recorded_by, agent_id, name, status, pass_rate, document)
   SELECT $tenant, gen_random_uuid(), clock_timestamp() - interval '1 day' - n * interval '1 second', 'key:000000000000', ${AGENT}, 'nightly',
     'failing', 10, '{}' FROM generate_series(1, $rows / 10) AS n`,
  `INSERT INTO countersign.traces (tenant_id, id, trace_id, agent_id, outcome, has_error, total_tokens, span_count, submission_count, received_at)
   SELECT $tenant, md5('trace ' || n)::uuid, 'stored-' || n, ${AGENT}, 'success', false, 1000, 10, 1, clock_timestamp()
     FROM generate_series(1, $rows / 10) AS n`,
  `INSERT INTO countersign.trace_submissions (tenant_id, trace, number, received_at, recorded_by, document, spans)
   SELECT $tenant, md5('trace ' || n)::uuid, 1, clock_timestamp(), 'key:000000000000', repeat('x', 1000), '${TEN_SPANS}' FROM generate_series(1, $rows / 10) AS n`,
  `INSERT INTO countersign.telemetry_submissions (tenant_id, id, received_at, recorded_by, document)
   SELECT $tenant, md5('batch ' || n)::uuid, clock_timestamp(), 'key:000000000000', repeat('x', 1000) FROM generate_series(1, $rows / 200) AS n`,
  `INSERT INTO countersign.telemetry_events (tenant_id, submission, ordinal, trace_id, outcome, has_error, received_at)
   SELECT $tenant, md5('batch ' || n / 200)::uuid, n % 200, 'stored-' || n, 'success', false, clock_timestamp()
     FROM generate_series(200, $rows + 199) AS n`,
  'VACUUM ANALYZE',
  'CHECKPOINT',
];
