import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { harnessIdOf } from '../../src/importers/harness-id.ts';
import { runCli, type TerminalOverrides } from '../fixtures/run-cli.ts';
import { respondWith, stubServer } from '../fixtures/stub-server.ts';

let server: TestServer;
let environment: Record<string, string>;
let folder: string;

beforeAll(async () => {
  server = await testServer();
  environment = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: await server.key(await server.workspace('acme')) };
  folder = mkdtempSync(join(tmpdir(), 'countersign-records-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: string[], overrides: TerminalOverrides = {}) => runCli(args, { environment, ...overrides });
const resultsPath = (name: string) => fileURLToPath(new URL(`../fixtures/results/${name}`, import.meta.url));
const inFile = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const readEvaluation = async (id: string) =>
  (await server.database.sql<Record<string, unknown>>('SELECT * FROM countersign.evaluations WHERE id = $1', [id]))[0];

describe('a request that the service rejects', () => {
  test('makes the command exit with 2, or with 3 after a 422 without an error code, as from a proxy', async () => {
    const append = ['audit', 'append', '--actor', 'ci', '--action', 'x', '--retention-until', 'soon'];
    const rejected = await run(append);
    expect([rejected.status, rejected.err]).toEqual([2, expect.stringMatching(/422 .*retention_until/)]);
    const stub = await stubServer();
    stub.respond = respondWith('no', 422);
    expect((await run([...append, '--url', stub.url])).status).toBe(3);
  });
});

describe('evaluate record', () => {
  const record = (...args: string[]) => run(['evaluate', 'record', '--agent', 'bot', ...args]);

  test.each([
    ['promptfoo', 'promptfoo.json', { name: 'Order questions, nightly', pass_rate: 60, category: 'regression' }, 'promptfoo'],
    ['inspect', 'inspect.json', { name: 'orders/refund_limits', pass_rate: 75, category: 'safety' }, 'inspect_ai'],
    ['deepeval', 'deepeval.json', { name: 'orders nightly', pass_rate: 66.6666, category: null }, 'deepeval'],
    ['junit', 'junit.xml', { name: 'agent evals', pass_rate: 60, category: null }, 'junit'],
  ])('records a result of %s in one command', async (tool, file, expected, harness) => {
    const { status, out, err } = await record(`--${tool}`, resultsPath(file));
    expect([status, out]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
    expect(err).toMatch(/^recorded: .*cases? passed|accuracy/);
    expect(await readEvaluation(out.trim())).toMatchObject({ ...expected, status: 'passing', harness_id: harnessIdOf(harness) });
  });

  test('prints a warning for a new agent with a name similar to a known one, and rejects an invisible character', async () => {
    const recordFor = (agent: string) => run(['evaluate', 'record', '--agent', agent, '--name', 'n', '--pass-rate', '90']);
    expect((await recordFor('warned-bot')).err).not.toContain('warning');
    const [capital, cyrillic] = [await recordFor('Warned-Bot'), await recordFor('warned-b\u043et')];
    expect(capital.status).toBe(0);
    expect(capital.err).toContain(
      'warning: "Warned-Bot" was registered as a new agent; its name looks like that of the known agent "warned-bot".',
    );
    expect(cyrillic.err).toContain('warning: "warned-b\u043et" (warned-b%D0%BEt) was registered as a new agent');
    expect((await recordFor('Warned-Bot')).err).not.toContain('warning');
    const bad = await recordFor('warned-bot\u200b');
    expect([bad.status, bad.err]).toEqual([
      2,
      expect.stringContaining('U+200B ZERO WIDTH SPACE at position 11; send "warned-bot"'),
    ]);
  });

  test('accepts time, suite, artifact and URL of a run as options, and rejects a time without a zone and an artifact tag', async () => {
    const commit = `gitCommit:${'a'.repeat(40)}`;
    const details = ['--suite', 'safety', '--artifact', commit, '--run-url', 'https://ci.example.com/7', '--partial'];
    const { status, out } = await record(
      '--junit',
      resultsPath('junit.xml'),
      '--evaluated-at',
      '2026-01-05T10:00:00+02:00',
      ...details,
    );
    expect(status).toBe(0);
    expect(await readEvaluation(out.trim())).toMatchObject({
      ...{
        evaluated_at: new Date('2026-01-05T08:00:00Z'),
        suite: 'safety',
        artifact: commit,
        completeness: 'partial',
        pass_rate: 60,
      },
      document: expect.stringContaining('"run_url":"https://ci.example.com/7"'),
    });
    const noZone = await record('--name', 'n', '--pass-rate', '9', '--evaluated-at', '2026-01-05T10:00:00');
    expect([noZone.status, noZone.err]).toEqual([2, expect.stringContaining('with its time zone')]);
    const tag = await record('--name', 'n', '--pass-rate', '9', '--artifact', 'bot:latest');
    expect([tag.status, tag.err]).toEqual([2, expect.stringContaining('tags and branches are rejected')]);
  });

  test('options override name, category and harness of the file, and --notes come before the notes of the file', async () => {
    const more = ['--name', 'release', '--category', 'smoke', '--harness', 'nightly-rig', '--notes', 'run by hand', '--json'];
    const { out, err } = await record('--junit', resultsPath('junit.xml'), ...more);
    const { id, notes } = JSON.parse(out);
    expect([err, notes]).toEqual(['', 'run by hand\nJUnit: 3 of 5 cases passed (1 failed, 1 in error).']);
    expect(await readEvaluation(id)).toMatchObject({
      name: 'release',
      category: 'smoke',
      harness_id: harnessIdOf('nightly-rig'),
      pass_rate: 60,
    });
  });

  test('escapes in JSON what GitHub would read as a workflow command', async () => {
    const name = '##[set-output name=allowed]true';
    const { status, out } = await record('--name', name, '--pass-rate', '90', '--json');
    expect([status, out.includes('##['), JSON.parse(out).name]).toEqual([0, false, name]);
  });

  test('records a passing, failing or running result from options only', async () => {
    for (const [status, ...rate] of [['passing', '--pass-rate', '92.5'], ['failing', '--pass-rate', '10'], ['running']]) {
      const { out } = await record('--name', 'nightly', '--status', status!, ...rate);
      expect(await readEvaluation(out.trim())).toMatchObject({
        status,
        pass_rate: rate[1] === undefined ? null : Number(rate[1]),
      });
    }
  });

  test('stores one result for two commands with the same idempotency key', async () => {
    const args = ['--name', 'nightly', '--pass-rate', '99', '--idempotency-key', 'job-1'];
    expect((await record(...args)).out).toBe((await record(...args)).out);
  });

  test.each([
    ['is empty', '', /is empty/],
    ['is of another tool', '{"testCases":[]}', /not a results file of promptfoo/],
    ['has no cases', '{"results":{"stats":{"successes":0,"failures":0,"errors":0},"results":[]}}', /has no cases/],
    ['contradicts itself', '{"results":{"stats":{"successes":9,"failures":0},"results":[]}}', /filtered or cut off/],
  ])('exits with 2 for a file that %s, and records nothing', async (_what, text, why) => {
    const count = async () =>
      (await server.database.sql<{ count: string }>('SELECT count(*) FROM countersign.evaluations'))[0]!.count;
    const before = await count();
    const { status, out, err } = await record('--promptfoo', inFile('results.json', text));
    expect([status, out, err]).toEqual([2, '', expect.stringMatching(why)]);
    expect(await count()).toBe(before);
  });
});

describe('audit append', () => {
  test('appends an entry from options and a file, and prints the number of its row', async () => {
    const metadata = inFile('metadata.json', '{"release":"2026.47","commit":"abc"}');
    const args = [
      '--actor',
      'ci:deploy',
      '--action',
      'agent.promoted',
      '--subject',
      'bot',
      '--rationale',
      'r',
      '--metadata',
      metadata,
    ];
    const { status, out, err } = await run(['audit', 'append', ...args, '--retention-until', '2033-12-31']);
    expect([status, err]).toEqual([0, expect.stringMatching(/^appended as row \d+ of the ledger\n$/)]);
    const [row] = await server.database.sql<{ document: string }>(
      `SELECT document FROM countersign.audit_entries WHERE encode(row_hash, 'hex') = $1`,
      [out.trim()],
    );
    expect(JSON.parse(row!.document)).toMatchObject({
      actor: 'ci:deploy',
      subject: 'bot',
      metadata: { commit: 'abc' },
      retention_until: '2033-12-31',
    });
    const json = JSON.parse((await run(['audit', 'append', '--actor', 'a', '--action', 'b.c', '--json'])).out);
    expect(json).toMatchObject({ ok: true, seq: expect.any(Number), prev_hash: expect.any(String) });
  });

  test('rejects a file that is not UTF-8 before the request', async () => {
    const latin1 = join(folder, 'latin1.json');
    writeFileSync(latin1, Buffer.from('{"owner":"Zo\xeb"}', 'latin1'));
    for (const args of [
      ['audit', 'append', '--actor', 'a', '--action', 'b.c', '--metadata', latin1],
      ['trace', 'send', latin1],
    ]) {
      const { status, out, err } = await run(args);
      expect([status, out, err]).toEqual([2, '', expect.stringContaining('is not UTF-8 text')]);
    }
  });

  test.each([
    ['a repeated member', '{"approved":false,"approved":true}', '"approved" is given twice; give it once (at /approved)'],
    ['an inexact number', '{"order":[12345678901234567891]}', 'the number 12345678901234567891 is not exact'],
    ['minus zero', '{"delta":-0}', 'send 0, or send it as a string (at /delta)'],
  ])('rejects metadata with %s before the request, because the entry would contain another value', async (_what, text, why) => {
    const stub = await stubServer();
    const args = ['--actor', 'a', '--action', 'b.c', '--metadata', inFile('inexact.json', text), '--url', stub.url];
    const { status, out, err } = await run(['audit', 'append', ...args]);
    expect([status, out, err, stub.requests]).toEqual([2, '', expect.stringContaining(why), 0]);
  });
});

describe('trace send', () => {
  const trace = (id: string) => ({
    trace_id: id,
    agent_name: 'bot',
    spans: [{ span_id: 's', kind: 'llm', name: 'plan', total_tokens: 7 }],
  });

  test.each([
    ['one object', JSON.stringify(trace('one'), null, 2), 1],
    ['an array', JSON.stringify([trace('two'), trace('three')]), 2],
    ['NDJSON with an empty line', `${JSON.stringify(trace('four'))}\n\n${JSON.stringify(trace('five'))}\n`, 2],
  ])('sends %s', async (_form, text, count) => {
    const { status, out } = await run(['trace', 'send', inFile('traces', text), '--json']);
    expect([status, JSON.parse(out).sent]).toEqual([
      0,
      Array.from({ length: count }, () => expect.objectContaining({ ok: true, tokens: 7 })),
    ]);
    expect((await run(['trace', 'send', '-'], { input: async () => Buffer.from(text) })).status).toBe(0);
  });

  test('reports the trace that the service rejects and how many traces were stored before it', async () => {
    const wrong = [trace('six'), { ...trace('seven'), outcome: 'fine' }];
    const { status, err } = await run(['trace', 'send', inFile('traces', JSON.stringify(wrong))]);
    expect([status, err]).toEqual([2, expect.stringMatching(/trace 2 of 2: 422 .*outcome.*stored before it: 1/)]);
  });

  test.each([
    ['an array', '[{"trace_id":"a"},\n{"trace_id":"b","spans":[{"span_id":1234567890123456789}]}]', '(at /1/spans/0/span_id)'],
    ['a line of NDJSON', '{"trace_id":"a"}\n{"trace_id":"b","trace_id":"c"}\n', 'line 2: "trace_id" is given twice'],
  ])('sends nothing if a value in %s would change by parsing', async (_form, text, why) => {
    const stub = await stubServer();
    const { status, out, err } = await run(['trace', 'send', inFile('traces', text), '--url', stub.url]);
    expect([status, out, err, stub.requests]).toEqual([2, '', expect.stringContaining(why), 0]);
  });

  test('sends half of a surrogate pair as it was given', async () => {
    const bodies: string[] = [];
    const stub = await stubServer();
    stub.respond = (_request, body, response) => {
      bodies.push(body);
      respondWith('{"ok":true,"id":"0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f"}')(_request, body, response);
    };
    const text = '{"trace_id":"a","output":"cut \\ud83d"}';
    expect((await run(['trace', 'send', inFile('traces', text), '--url', stub.url])).status).toBe(0);
    expect(bodies).toEqual([text]);
  });

  test.each([
    ['an empty file', ''],
    ['an empty array', '[]'],
    ['another document', '{"events":[]}'],
    ['a truncated line', '{"trace_id":"a"}\n{"trace'],
  ])('exits with 2 for %s', async (_what, text) => {
    expect((await run(['trace', 'send', inFile('traces', text)])).status).toBe(2);
  });
});

describe('recording with a failing service', () => {
  test.each([401, 403, 500])('exits with 3 after %s, because the record may be missing', async (code) => {
    const stub = await stubServer();
    stub.respond = respondWith('{"error":"x","issues":[]}', code);
    const { status, out } = await run(['audit', 'append', '--actor', 'a', '--action', 'b.c', '--url', stub.url]);
    expect([status, out]).toEqual([3, '']);
  });

  test.each([
    ['no ID', {}],
    ['a workflow command as its ID', { id: 'x\n::add-mask::y', row_hash: 'x\n::add-mask::y' }],
    ['an ID that is not a string', { id: 7, row_hash: 7 }],
  ])('exits with 3 after a response with %s, and prints no part of the response', async (_what, members) => {
    const stub = await stubServer();
    stub.respond = respondWith(JSON.stringify({ ok: true, ...members }));
    for (const args of [
      ['audit', 'append', '--actor', 'a', '--action', 'b.c'],
      ['evaluate', 'record', '--agent', 'bot', '--name', 'n', '--pass-rate', '90'],
      ['trace', 'send', inFile('one', '{"trace_id":"a"}')],
    ]) {
      const { status, out, err } = await run([...args, '--url', stub.url]);
      expect([status, out, err]).toEqual([3, '', expect.stringMatching(/^countersign: [^\n]*not from Countersign[^\n]*\n$/)]);
    }
  });

  test('does not print text of the response where a number is expected', async () => {
    const stub = await stubServer();
    const members = { id: '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f', row_hash: 'a'.repeat(64), pass_rate: '1\n::add-mask::2' };
    stub.respond = respondWith(JSON.stringify({ ok: true, ...members }), 200, { 'countersign-ledger-seq': '##[add-mask]3' });
    const append = await run(['audit', 'append', '--actor', 'a', '--action', 'b.c', '--url', stub.url]);
    expect([append.status, append.err]).toEqual([0, 'appended as row ? of the ledger\n']);
    const args = ['--agent', 'bot', '--name', 'n', '--pass-rate', '90', '--suite', 's', '--url', stub.url];
    const { status, err } = await run(['evaluate', 'record', ...args]);
    expect([status, err]).toEqual([0, 'recorded: n, passing, no pass rate.\n']);
  });
});
