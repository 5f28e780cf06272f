import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { resultsFile } from '../fixtures/results/import.ts';
import { runCli } from '../fixtures/run-cli.ts';
import { respondWith, stubServer } from '../fixtures/stub-server.ts';

let server: TestServer;
let environment: Record<string, string>;
let folder: string;

beforeAll(async () => {
  server = await testServer();
  environment = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: await server.key(await server.workspace('acme')) };
  folder = mkdtempSync(join(tmpdir(), 'countersign-results-files-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const resultsPath = (name: string) => fileURLToPath(new URL(`../fixtures/results/${name}`, import.meta.url));
const record = (args: string[], variables: Record<string, string> = {}) =>
  runCli(['evaluate', 'record', '--agent', 'bot', ...args], { environment: { ...environment, ...variables } });
const readEvaluation = async (id: string) => {
  const [row] = await server.database.sql<{ document: string }>('SELECT * FROM countersign.evaluations WHERE id = $1', [
    id.trim(),
  ]);
  return { ...row, sent: JSON.parse(row!.document) };
};
const countEvaluations = async () =>
  (await server.database.sql<{ count: string }>('SELECT count(*) FROM countersign.evaluations'))[0]!.count;
const inFile = (name: string, text: string | Uint8Array) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('evaluate record with a results file', () => {
  test('records cases, time, suite, completeness and the digest of the file', async () => {
    const { status, out } = await record(['--promptfoo', resultsPath('promptfoo-whole.json')]);
    expect(status).toBe(0);
    const { sent } = await readEvaluation(out);
    expect(sent).toMatchObject({
      cases: { total: 6, passed: 5, failed: 1, errored: 0, skipped: 0 },
      evaluated_at: expect.stringMatching(/^2026-11-22T/),
      suite: { name: 'Order questions' },
      completeness: 'complete',
      results_sha256: createHash('sha256').update(resultsFile('promptfoo-whole.json')).digest('hex'),
    });
    expect(sent).not.toHaveProperty('run_url');
  });

  test.each([
    ['inspect', 'inspect-errors.json', { cases: { total: 6, errored: 1, skipped: 0 }, pass_rate: 50 }],
    ['deepeval', 'deepeval-run.json', { cases: { total: 4, passed: 1, failed: 3, errored: 0, skipped: 0 } }],
    ['junit', 'jest-todo.xml', { cases: { total: 11, passed: 1, failed: 1, errored: 9, skipped: 0 } }],
  ])('records the cases of %s', async (tool, file, expected) => {
    const { status, out } = await record([`--${tool}`, resultsPath(file)]);
    expect(status).toBe(0);
    expect((await readEvaluation(out)).sent).toMatchObject(expected);
  });

  test('records that skipped cases were excluded from the pass rate', async () => {
    const { out } = await record(['--junit', resultsPath('vitest.xml'), '--ignore-skipped', '--json']);
    const { id, pass_rate } = JSON.parse(out);
    expect(pass_rate).toBeCloseTo(66.6666, 3);
    expect((await readEvaluation(id)).sent).toMatchObject({ skipped_excluded: true, cases: { total: 5, skipped: 2 } });
  });

  test.each([
    [
      'GitHub',
      { GITHUB_SERVER_URL: 'https://github.example', GITHUB_REPOSITORY: 'shop/bot', GITHUB_RUN_ID: '71' },
      'https://github.example/shop/bot/actions/runs/71',
    ],
    [
      'a GitLab job',
      { CI_JOB_URL: 'https://gitlab.example/j/7', CI_PIPELINE_URL: 'https://gitlab.example/p/3' },
      'https://gitlab.example/j/7',
    ],
    ['a GitLab pipeline', { CI_PIPELINE_URL: 'https://gitlab.example/p/3' }, 'https://gitlab.example/p/3'],
    ['a javascript: URL', { CI_JOB_URL: 'javascript:alert(1)' }, undefined],
    [
      'a URL with @ in its path and query',
      { CI_JOB_URL: 'https://gitlab.example/@team/j/7?by=a@b' },
      'https://gitlab.example/@team/j/7?by=a@b',
    ],
    ['a URL with a password', { CI_JOB_URL: 'https://user:secret@gitlab.example/j/7' }, undefined],
  ])(
    'records the URL of the CI run only if it is HTTP or HTTPS and has no user or password: %s',
    async (_where, variables, url) => {
      const { status, out } = await record(['--junit', resultsPath('vitest.xml')], variables);
      expect(status).toBe(0);
      expect((await readEvaluation(out)).sent.run_url).toBe(url);
    },
  );
});

describe('age of a results file', () => {
  const writeResultsWithTime = (at: string) => {
    const file = JSON.parse(Buffer.from(resultsFile('promptfoo-whole.json')).toString());
    file.results.timestamp = at;
    return inFile('dated.json', JSON.stringify(file));
  };

  test('a promptfoo file from 2025-01-05 does not pass --max-age-hours 1', async () => {
    expect((await record(['--promptfoo', writeResultsWithTime('2025-01-05T10:00:00.000Z')])).status).toBe(0);
    const gate = await runCli(['gate', '--agent', 'bot', '--min-pass-rate', '80', '--max-age-hours', '1'], { environment });
    expect([gate.status, gate.out]).toEqual([1, expect.stringContaining('old')]);
  });

  test('--evaluated-at can make a run older, but not newer, than the time in its file', async () => {
    const file = writeResultsWithTime('2026-01-05T10:00:00.000Z');
    const younger = await record(['--promptfoo', file, '--evaluated-at', '2026-02-05T10:00:00Z']);
    expect([younger.status, younger.err]).toEqual([2, expect.stringContaining('according to the file, before --evaluated-at')]);
    const older = await record(['--promptfoo', file, '--evaluated-at', '2025-12-05T10:00:00Z']);
    expect((await readEvaluation(older.out)).sent.evaluated_at).toBe('2025-12-05T10:00:00Z');
  });
});

describe('errors of evaluate record', () => {
  test.each([
    ['a partial run', '--inspect', () => resultsPath('inspect-limit.json'), /--allow-partial/],
    ['several scorers', '--inspect', () => resultsPath('inspect-scorers.json'), /match\/accuracy, lenient\/accuracy/],
    ['a missing file', '--junit', () => join(folder, 'missing.xml'), /cannot read/],
    ['a file without cases', '--junit', () => inFile('none.xml', '<testsuites/>'), /has no cases/],
    [
      'a run in the future',
      '--junit',
      () => inFile('future.xml', '<testsuite timestamp="2999-01-01T00:00:00Z"><testcase/></testsuite>'),
      /evaluated_at/,
    ],
  ])(
    'for %s say that nothing was recorded, which evaluation counts and how to record a failure',
    async (_what, option, file, why) => {
      const before = await countEvaluations();
      const { status, out, err } = await record([option, file()]);
      expect([status, out]).toEqual([2, '']);
      expect(err).toMatch(why);
      expect(err).toContain('Nothing was recorded, so the previous evaluation still counts');
      expect(err).toContain('countersign evaluate record --agent bot --name NAME --status failing');
      expect(await countEvaluations()).toBe(before);
    },
  );

  test('do not occur for a partial run with --allow-partial, which is recorded as partial', async () => {
    const { status, out } = await record(['--inspect', resultsPath('inspect-limit.json'), '--allow-partial']);
    expect(status).toBe(0);
    expect((await readEvaluation(out)).sent.completeness).toBe('partial');
  });

  test('suggest --name and --status failing, which record a failing evaluation without a pass rate', async () => {
    const { status, out } = await record(['--name', 'nightly', '--status', 'failing']);
    expect(status).toBe(0);
    expect(await readEvaluation(out)).toMatchObject({ status: 'failing', pass_rate: null });
  });

  test('for an evaluation with details name the endpoint that an older server lacks, and no ID is printed', async () => {
    const stub = await stubServer();
    stub.respond = respondWith('{"error":"not_found","issues":[]}', 404);
    const { status, out, err } = await record(['--junit', resultsPath('vitest.xml'), '--url', stub.url]);
    expect([status, out, err]).toEqual([3, '', expect.stringContaining('does not have POST /api/v1/evaluations')]);
    const withoutDetails = await record(['--name', 'nightly', '--pass-rate', '90', '--url', stub.url]);
    expect([withoutDetails.status, withoutDetails.err]).toEqual([3, 'countersign: 404 not_found\n']);
  });
});
