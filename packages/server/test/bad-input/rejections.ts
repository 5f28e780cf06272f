import { beforeAll, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../harness/test-database.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

/** The status of each error code of a rejection. Written by hand, so that a change of the server's table of errors fails a test. */
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
export type RejectionCode = keyof typeof STATUS;

/** A request that the server must reject, and the expected rejection. */
export interface RejectedRequest {
  /** The fault; it becomes the name of the test. */
  what: string;
  path: string;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body: unknown;
  headers?: Record<string, string>;
  /** Default: `validation_failed`. */
  error?: RejectionCode;
  /** All issues of the response as "<JSON Pointer> <code>", in any order. */
  issues: readonly string[];
  /** One of the messages must match this pattern, or contain this text. */
  messagePattern?: string | RegExp;
}

/** A valid body for each JSON endpoint. Many rejected bodies are one of these bodies with a single fault. */
export const GOOD = {
  trace: { trace_id: 'run-1', agent_name: 'support-bot', spans: [{ span_id: 's1', kind: 'llm', name: 'plan' }] },
  event: { trace_id: 'run-2', outcome: 'success', agent_name: 'support-bot' },
  evaluation: { name: 'nightly', agent_name: 'support-bot', pass_rate: 90 },
  detailed: { name: 'nightly', agent_name: 'support-bot', cases: { total: 10, passed: 9, failed: 1 } },
  entry: { actor: 'ci', action: 'agent.promoted' },
  check: { agent_name: 'support-bot', min_pass_rate: 99 },
} as const;

/** A server that has stored a record from each body of `GOOD`, and the key of the requests with bad input. */
export interface RejectionTarget {
  server: TestServer;
  key: string;
  tenantId: string;
}

/**
 * Starts the server of a test file. The server must first accept all valid bodies, so a later rejection is due to the fault in its
 * request.
 */
export function setUpRejections(): RejectionTarget {
  const target = {} as RejectionTarget;
  beforeAll(async () => {
    // Checkpoints are off, because signing one during a test would change the database.
    target.server = await testServer({ checkpointSeconds: undefined });
    target.tenantId = await target.server.workspace();
    target.key = await target.server.key(target.tenantId);
    let before = await digestOf(target.server.database);
    for (const [path, body] of [
      [paths.traces, GOOD.trace],
      [paths.telemetry, GOOD.event],
      [paths.telemetry, { events: [GOOD.event, GOOD.event] }],
      [paths.evaluations, GOOD.evaluation],
      [paths.detailedEvaluations, GOOD.detailed],
      [paths.audit, GOOD.entry],
      [paths.promotionCheck, GOOD.check],
    ] as const) {
      expect((await target.server.post(path, target.key, body)).status).toBe(200);
      const after = await digestOf(target.server.database);
      expect(after).not.toEqual(before);
      before = after;
    }
  });
  return target;
}

/** Adds one test per request: the response must be exactly the expected rejection, and the database must not change. */
export function testRejections(title: string, target: RejectionTarget, requests: readonly RejectedRequest[]): void {
  describe(title, () => {
    test.each(requests)('$what', async ({ path, body, headers, error = 'validation_failed', issues, messagePattern }) => {
      const before = await digestOf(target.server.database);
      const response = await target.server.post(path, target.key, body, headers);
      expectRejected(response, error, issues);
      if (messagePattern !== undefined)
        expect(response.body.issues.map(({ message }: { message: string }) => message).join('\n')).toMatch(messagePattern);
      expect(await digestOf(target.server.database)).toEqual(before);
    });
  });
}

/** Expects a rejection with this code, its status in the table, exactly these issues, a request ID and the media type of JSON. */
export function expectRejected(
  { status, headers, body }: TestResponse,
  error: RejectionCode,
  issues: readonly string[] = [],
): void {
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

/** Row count and digest of every table except `key_last_use`, which a rejected request with a valid key also changes. */
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
