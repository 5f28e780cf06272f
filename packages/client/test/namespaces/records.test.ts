import { beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { AuthenticationError, Countersign, receiptOf, ValidationError } from '../../src/index.ts';

let server: TestServer;
let client: Countersign;
let apiKey: string;

beforeAll(async () => {
  server = await testServer();
  apiKey = await server.key(await server.workspace());
  client = new Countersign({ baseUrl: server.url, apiKey });
});

describe('a client of the real server', () => {
  test('records an evaluation whose pass rate decides a promotion check', async () => {
    const { id } = await client.evaluations.record({ name: 'nightly', agent_name: 'support-bot', pass_rate: 92.5 });
    const decision = await client.governance.checkPromotion({ agent_name: 'support-bot', min_pass_rate: 90 });
    expect(decision).toMatchObject({ allowed: true, evaluation_id: id, actual_threshold: 92.5 });
    const blocked = await client.governance.checkPromotion({ agent_name: 'support-bot', min_pass_rate: 99 });
    expect(blocked).toMatchObject({ allowed: false, reason: 'pass_rate_below_threshold' });
  });

  test('appends an audit entry; the receipt contains the row number of the entry and the text of the response', async () => {
    const appended = await client.audit.append({ actor: 'ci:deploy', action: 'agent.promoted', subject: 'support-bot' });
    expect(appended.row_hash).toMatch(/^[0-9a-f]{64}$/);
    const receipt = receiptOf(appended);
    expect(receipt).toMatchObject({ attempts: 1, replayed: false, requestId: expect.any(String) });
    expect(receipt?.headers['countersign-ledger-seq']).toMatch(/^\d+$/);
    expect(JSON.parse(receipt!.text)).toEqual(appended);
  });

  test('sends a trace with its spans; the response counts spans and tokens', async () => {
    const spans = [{ span_id: 's1', kind: 'llm', name: 'plan', prompt_tokens: 8, completion_tokens: 2 } as const];
    expect(await client.traces.send({ trace_id: 'run-1', agent_name: 'support-bot', spans })).toMatchObject({
      trace_id: 'run-1',
      spans_ingested: 1,
      tokens: 10,
    });
  });

  test('receives the first response again for the same idempotency key, and the receipt marks the replay', async () => {
    const entry = { actor: 'ci:deploy', action: 'agent.retried' };
    const first = await client.audit.append(entry, { idempotencyKey: 'retried-1' });
    const second = await client.audit.append(entry, { idempotencyKey: 'retried-1' });
    expect(second).toEqual(first);
    expect([receiptOf(first)?.replayed, receiptOf(second)?.replayed]).toEqual([false, true]);
  });

  test('throws a ValidationError with every issue of an invalid body', async () => {
    const wrong = client.evaluations.record({ name: '', pass_rate: 101 });
    await expect(wrong).rejects.toThrow(ValidationError);
    const error = await wrong.catch((caught: ValidationError) => caught);
    expect(error).toMatchObject({ status: 422, code: 'validation_failed', requestId: expect.any(String), attempts: 1 });
    expect((error as ValidationError).issues.map(({ path }) => path)).toEqual(['/name', '/pass_rate']);
  });

  test('throws an AuthenticationError that does not contain an unknown key, and one that names a missing scope', async () => {
    const unknownClient = new Countersign({ baseUrl: server.url, apiKey: `aa_live_000000000000.secretsecret${'x'.repeat(31)}` });
    const unknown = await unknownClient.audit.append({ actor: 'a', action: 'b.c' }).catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(AuthenticationError);
    expect(unknown).toMatchObject({ status: 401, code: 'unauthorized', missingScope: undefined });
    expect(String(unknown)).toContain('unknown, revoked or expired key');
    expect(JSON.stringify(unknown) + String(unknown)).not.toContain('secretsecret');
    const clientWithoutScope = new Countersign({
      baseUrl: server.url,
      apiKey: await server.key(await server.workspace(), ['audit']),
    });
    await expect(clientWithoutScope.evaluations.record({ name: 'x' })).rejects.toMatchObject({
      status: 401,
      code: 'insufficient_scope',
      issues: [{ code: 'missing_scope' }],
      missingScope: 'evaluations',
      message: expect.stringContaining('missing scope evaluations'),
    });
  });

  test('uses a rotated key without a restart, because the apiKey function is called before every request', async () => {
    let currentKey = `aa_live_000000000000.${'r'.repeat(43)}`;
    const clientWithKeyFunction = new Countersign({ baseUrl: server.url, apiKey: async () => currentKey });
    await expect(clientWithKeyFunction.audit.append({ actor: 'a', action: 'b.c' })).rejects.toThrow(AuthenticationError);
    currentKey = apiKey;
    await expect(clientWithKeyFunction.audit.append({ actor: 'a', action: 'b.c' })).resolves.toMatchObject({ ok: true });
  });
});
