import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { deriveDecisionKey } from '../../server/src/crypto/digests.ts';
import { mintKey } from '../../server/src/workspace/ingestion-keys.ts';
import { type TestServer, testServer } from '../../server/test/harness/test-server.ts';
import { FAKES } from './fixtures/model-clients.ts';
import { snippets } from './fixtures/snippets.ts';

const library = fileURLToPath(new URL('../src/index.ts', import.meta.url));
const [prelude, ...blocks] = snippets();
let server: TestServer;
let tenantId: string;
let folder: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  folder = mkdtempSync(join(tmpdir(), 'countersign-readme-'));
  vi.stubEnv('COUNTERSIGN_URL', server.url);
  vi.stubEnv('COUNTERSIGN_API_KEY', await server.key(tenantId));
  for (const [name, source] of Object.entries(FAKES)) writeFileSync(fakePath(name), source);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fakePath = (name: string) => join(folder, `${name.replaceAll(/\W/g, '-')}.ts`);

/**
 * Runs a snippet of the README. If the snippet creates no client, the first snippet runs before it and creates one. Import paths are
 * replaced, and the client is closed at the end.
 */
async function runSnippet(code: string) {
  const program = code.includes('new Countersign(') ? code : `${prelude!.code}\n${code}`;
  const linkedProgram = program.replaceAll(/ from '([^']+)'/g, (_, name) => {
    const target = name === '@countersign/client' ? library : name in FAKES ? fakePath(name) : name;
    return ` from '${target}'`;
  });
  const path = join(folder, `snippet-${Math.random()}.ts`);
  writeFileSync(path, `${linkedProgram}\nawait countersign.close();\n`);
  await import(path);
}

const readLatestSpans = () =>
  server.database.sql(
    `SELECT s.kind, s.name, s.model, s.provider, s.total_tokens::int, s.status FROM countersign.spans AS s
       JOIN countersign.traces AS t ON t.id = s.trace WHERE t.tenant_id = $1 ORDER BY t.id DESC LIMIT 1`,
    [tenantId],
  );
const snippetUnder = (heading: string, index = 0) => blocks.filter((block) => block.heading === heading)[index]!.code;
const modelCall = { kind: 'llm', status: 'success', total_tokens: 12 };

describe('snippets of the README', () => {
  test('record an evaluation, check a promotion and append an audit entry', async () => {
    const log = vi.spyOn(console, 'log').mockReturnValue();
    await runSnippet(snippetUnder('Evaluations, audit entries, promotion checks'));
    expect(log.mock.calls).toEqual([[expect.stringMatching(/^[0-9a-f]{64}$/)]]);
    log.mockRestore();
  });

  test('handle a validation error', async () => {
    const error = vi.spyOn(console, 'error').mockReturnValue();
    await runSnippet(snippetUnder('Evaluations, audit entries, promotion checks', 1));
    expect(error.mock.calls).toEqual([['/pass_rate', expect.stringContaining('between 0 and 100')]]);
    error.mockRestore();
  });

  test('send telemetry', async () => {
    await runSnippet(snippetUnder('Telemetry'));
    await runSnippet(snippetUnder('Telemetry', 1));
    const stored = await server.database.sql('SELECT trace_id FROM countersign.telemetry_events WHERE tenant_id = $1', [
      tenantId,
    ]);
    expect(stored).toEqual([{ trace_id: 'run-17' }]);
  });

  test.each([
    ['Traces: a run as it happens', 0, { kind: 'tool', name: 'find_order', status: 'success' }],
    ['A call to OpenAI', 0, { ...modelCall, name: 'chat', model: 'gpt-4o', provider: 'openai' }],
    ['A call to OpenAI', 1, { ...modelCall, name: 'chat', model: 'gpt-4o', provider: 'openai' }],
    ['A call to Anthropic', 0, { ...modelCall, name: 'ask', model: 'claude-sonnet-4-5', provider: 'anthropic' }],
    ['A call through the Vercel AI SDK', 0, { ...modelCall, name: 'generate', model: 'gpt-4o', provider: 'openai' }],
  ])('%s, snippet %s: stores the span of the model call or tool call in the trace', async (heading, index, span) => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await runSnippet(snippetUnder(heading, index)).finally(() => write.mockRestore());
    expect(await readLatestSpans()).toMatchObject([span]);
  });

  test('verify a decision, an attestation and an export', async () => {
    const token = await mintKey(server.open.pool, tenantId, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
    const get = async (path: string) =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })).text();
    const [{ key_id }] = (await server.database.sql('SELECT key_id FROM countersign.decision_keys WHERE tenant_id = $1', [
      tenantId,
    ])) as [{ key_id: string }];
    vi.stubEnv(
      'COUNTERSIGN_DECISION_KEY',
      Buffer.from(deriveDecisionKey(server.open.secrets.masterSecret, tenantId, key_id)).toString('hex'),
    );
    const kept = join(folder, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'jwks.json'), await get('/.well-known/jwks.json'));
    writeFileSync(join(kept, 'acme.ndjson'), await get('/api/ledger/audit/entries'));
    writeFileSync(join(kept, 'acme.checkpoint'), await get('/api/ledger/audit/checkpoint'));
    const code = snippetUnder('Verifying decisions and ledgers').replaceAll("'kept/", `'${kept}/`);
    await runSnippet(code);
    writeFileSync(join(kept, 'acme.ndjson'), readFileSync(join(kept, 'acme.ndjson'), 'utf8').replace('support-bot', 'other-bot'));
    await expect(runSnippet(code)).rejects.toThrow(/^row 1: .*altered/);
  });

  test('are ten besides the first one, which creates a client; the tests above run all of them', () => {
    expect(blocks.length).toBe(10);
  });
});
