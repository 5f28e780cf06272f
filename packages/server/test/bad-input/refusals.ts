import { beforeAll, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../harness/test-database.ts';
import { type Answer, paths, type TestServer, testServer } from '../harness/test-server.ts';

/** The error table by hand, so that a change of the code's own table is noticed here. */
export const STATUS = {
  bad_request: 400,
  unauthorized: 401,
  insufficient_scope: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  wrong_host: 421,
  invalid_json: 422,
  validation_failed: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
} as const;
export type RefusalCode = keyof typeof STATUS;

/** One request that must be refused, and exactly how. */
export interface RuleViolationError {
  /** What is wrong with it; the name of the test. */
  what: string;
  path: string;
  /** Sent as JSON; a string or bytes as they are. */
  body: unknown;
  headers?: Record<string, string>;
  /** `validation_failed` unless said. */
  error?: RefusalCode;
  /** All of its issues as "<JSON Pointer> <code>", in any order. */
  issues: readonly string[];
  /** What one of the messages must say. */
  says?: string | RegExp;
}

/** Valid bodies, one an endpoint: every refusal is one of these with one thing wrong. */
export const GOOD = {
  trace: { trace_id: 'run-1', agent_name: 'support-bot', spans: [{ span_id: 's1', kind: 'llm', name: 'plan' }] },
  event: { trace_id: 'run-2', outcome: 'success', agent_name: 'support-bot' },
  evaluation: { name: 'nightly', agent_name: 'support-bot', pass_rate: 90 },
  detailed: { name: 'nightly', agent_name: 'support-bot', cases: { total: 10, passed: 9, failed: 1 } },
  entry: { actor: 'ci', action: 'agent.promoted' },
  check: { agent_name: 'support-bot', min_pass_rate: 99 },
} as const;

/** A server whose database holds something of everything, and the key that sends bad input to it. */
export interface World {
  server: TestServer;
  key: string;
  tenantId: string;
}

/** Starts the world of a test file. The good bodies are accepted first: what is refused later is refused for what is wrong with it. */
export function worldOfRefusals(): World {
  const world = {} as World;
  beforeAll(async () => {
    // A checkpoint that falls due meanwhile is no trace of a refused request.
    world.server = await testServer({ checkpointSeconds: undefined });
    world.tenantId = await world.server.workspace();
    world.key = await world.server.key(world.tenantId);
    const before = await digestOf(world.server.database);
    for (const [path, body] of [
      [paths.traces, GOOD.trace],
      [paths.telemetry, GOOD.event],
      [paths.telemetry, { events: [GOOD.event, GOOD.event] }],
      [paths.evaluations, GOOD.evaluation],
      [paths.detailedEvaluations, GOOD.detailed],
      [paths.audit, GOOD.entry],
      [paths.promotionCheck, GOOD.check],
    ] as const) {
      expect((await world.server.post(path, world.key, body)).status).toBe(200);
      expect(await digestOf(world.server.database)).not.toEqual(before);
    }
  });
  return world;
}

/** One test a refusal: the answer is exactly the table's, and nothing in the database is another than before. */
export function refuses(title: string, world: World, refusals: readonly RuleViolationError[]): void {
  describe(title, () => {
    test.each(refusals)('$what', async ({ path, body, headers, error = 'validation_failed', issues, says }) => {
      const before = await digestOf(world.server.database);
      const answer = await world.server.post(path, world.key, body, headers);
      expectRefused(answer, error, issues);
      if (says !== undefined)
        expect(answer.body.issues.map(({ message }: { message: string }) => message).join('\n')).toMatch(says);
      expect(await digestOf(world.server.database)).toEqual(before);
    });
  });
}

/** Holds an answer against the table: status, code, issues, request id, media type. */
export function expectRefused({ status, headers, body }: Answer, error: RefusalCode, issues: readonly string[] = []): void {
  const found = (body.issues as { path: string; code: string }[]).map((issue) => `${issue.path} ${issue.code}`);
  expect({ status, error: body.error, issues: found.sort() }).toEqual({
    status: STATUS[error],
    error,
    issues: [...issues].sort(),
  });
  expect(Object.keys(body)).toEqual(['error', 'issues']);
  for (const issue of body.issues) {
    expect(Object.keys(issue).sort()).toEqual(['code', 'message', 'path']);
    expect(issue.message.length).toBeGreaterThan(5);
    expect(issue.message.length).toBeLessThan(1000);
  }
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
}

/** Rows and content of every table, but for when keys were last used: a refused request is a use of its key. */
export async function digestOf(database: TestDatabase): Promise<Record<string, string>> {
  const tables = await database.sql<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'countersign' AND tablename <> 'key_last_use' ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(15);
  const selects = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, count(*) || ' ' || md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) AS digest FROM countersign.${name} AS t`,
  );
  const rows = await database.sql<{ name: string; digest: string }>(selects.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}
