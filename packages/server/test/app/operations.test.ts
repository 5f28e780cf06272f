import { beforeAll, describe, expect, test } from 'vitest';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await testServer();
  key = await server.key(await server.workspace());
});

const get = async (path: string, from = server) => {
  const response = await fetch(from.url + path);
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe('endpoints for operators', () => {
  test('/livez and /readyz respond to requests without a key', async () => {
    for (const [path, status] of [
      ['/livez', 'ok'],
      ['/readyz', 'ready'],
    ] as const) {
      const response = await get(path);
      expect([response.status, JSON.parse(response.text)]).toEqual([200, { status }]);
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test('/readyz responds with 503 and the reason: a newer schema, an older schema or an unreachable database', async () => {
    const failingServer = await testServer();
    const reason = async () => {
      const { status, headers, text } = await get('/readyz', failingServer);
      expect([status, headers.get('retry-after'), JSON.parse(text).status]).toEqual([503, '1', 'not ready']);
      return JSON.parse(text).reason;
    };
    await failingServer.database.sql(
      `INSERT INTO countersign.migrations (name, run_on) VALUES ('999999_from-the-future', now())`,
    );
    expect(await reason()).toContain('newer');
    await failingServer.database.sql(`DELETE FROM countersign.migrations WHERE name LIKE '999999%' OR name LIKE '000004%'`);
    expect(await reason()).toContain('older');
    await failingServer.open.lookupPool.end();
    expect(await reason()).toContain('does not respond');
    expect((await get('/livez', failingServer)).status).toBe(200);
  });

  test('/metrics counts requests, appends, decisions and batches and names no tenant, key or agent', async () => {
    await server.post(paths.audit, key, { actor: 'ci', action: 'is.counted' });
    await server.post(paths.audit, key, {});
    await server.post(paths.audit, undefined, {});
    await server.post(paths.promotionCheck, key, { agent_name: 'counted-agent' });
    await server.post('/nowhere', key, {});
    const { status, headers, text } = await get('/metrics');
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/plain; version=0\.0\.4/)]);
    for (const line of [
      'countersign_http_requests_total{endpoint="appendAuditEntry",status="200"} 1',
      'countersign_http_requests_total{endpoint="appendAuditEntry",status="422"} 1',
      'countersign_http_requests_total{endpoint="appendAuditEntry",status="401"} 1',
      'countersign_http_requests_total{endpoint="other",status="404"} 1',
      'countersign_http_request_duration_seconds_count{endpoint="appendAuditEntry"} 3',
      'countersign_ledger_appends_total 2',
      'countersign_decisions_total{reason="no_recent_evaluation"} 1',
      'countersign_batch_items_count{kind="audit"} 1',
      'countersign_queue_bytes 0',
      'countersign_reading_bytes 0',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toMatch(/counted-agent|aa_live|[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  test('/docs is a page without scripts that names endpoints, members and errors', async () => {
    const { status, headers, text } = await get('/docs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(text).toMatch(/^<!doctype html><html lang="en">/);
    expect(text).not.toMatch(/<script|undefined|\[object Object\]/);
    for (const word of [...Object.values(paths), 'min_pass_rate', 'retention_until', 'row_hash', 'idempotency_key_reused'])
      expect(text).toContain(word);
  });

  test('reject other methods with 405; the server responds with 404 to unknown paths', async () => {
    for (const [method, path] of [
      ['POST', '/livez'],
      ['DELETE', '/metrics'],
    ] as const) {
      const response = await fetch(server.url + path, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(await response.json()).toEqual({ error: 'method_not_allowed', issues: [] });
    }
    for (const path of ['/index.html', '/docs/', '/favicon.ico']) {
      const response = await fetch(server.url + path);
      expect([response.status, await response.json()]).toEqual([404, { error: 'not_found', issues: [] }]);
    }
  });
});
