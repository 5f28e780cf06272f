import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { type CiEnvironment, type CommandResult, createCiEnvironment, HOSTILE_NAME, textOf } from '../fixtures/ci-environment.ts';
import { runCli } from '../fixtures/run-cli.ts';

const gitlab = parse(textOf('examples/ci/gitlab.yml'));
let ci: CiEnvironment;
let trust: string;
beforeAll(async () => {
  ci = await createCiEnvironment();
  trust = join(ci.newJobFolder(), 'trust.json');
  writeFileSync(trust, (await runCommand(environmentOf(ci.server), 'trust', 'show', '--workspace', 'acme')).out);
}, 120_000);

let lastJobId = 4000;

/** Runs a job as the runner does: with the variables of all levels, and with before_script and script in one shell with -e. */
async function runJob(
  name: string,
  variables: Record<string, string>,
  files: Record<string, string> = {},
): Promise<CommandResult & { jobFolder: string }> {
  lastJobId += 1;
  const jobFolder = ci.newJobFolder();
  for (const [path, text] of Object.entries(files)) writeFileSync(join(jobFolder, path), text);
  const definition = gitlab[name];
  const base = gitlab[definition.extends];
  const script = ['set -e', ...base.before_script, ...definition.script].join('\n');
  const predefined = { GITLAB_CI: 'true', CI_JOB_NAME: name, CI_PROJECT_DIR: jobFolder, CI_JOB_ID: String(lastJobId) };
  const projectVariables = { COUNTERSIGN_URL: ci.server.url, COUNTERSIGN_API_KEY: ci.key, COUNTERSIGN_PACKAGE: ci.archive };
  const environment = { ...predefined, ...base.variables, ...definition.variables, ...projectVariables, ...variables };
  return { ...(await ci.run('sh', ['-c', script], jobFolder, environment)), jobFolder };
}

const record = (variables: Record<string, string>, files: Record<string, string>) =>
  runJob('.countersign-record', variables, files);
const gate = (variables: Record<string, string>, files?: Record<string, string>) =>
  runJob('.countersign-gate', { COUNTERSIGN_TRUST_FILE: trust, ...variables }, files);
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
/** A results file with the date of yesterday, because by default the gate blocks if the evaluation is older than three days. */
const recentResults = (name: string) =>
  textOf(`packages/client/test/fixtures/results/${name}`).replaceAll('2026-11-20', yesterday);

describe('GitLab template', () => {
  test.each([
    ['promptfoo', 'promptfoo.json'],
    ['inspect', 'inspect.json'],
    ['deepeval', 'deepeval.json'],
    ['junit', 'junit.xml'],
  ])(
    'records the results of %s; the gate then allows the agent and writes its artifacts',
    async (tool, file) => {
      const variables = { COUNTERSIGN_AGENT: `from ${tool}`, COUNTERSIGN_TOOL: tool, COUNTERSIGN_RESULTS: file };
      const recorded = await record(variables, { [file]: recentResults(file) });
      expect({ status: recorded.status, stdout: recorded.stdout }).toEqual({
        status: 0,
        stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/),
      });
      const passing = await gate({ COUNTERSIGN_AGENT: `from ${tool}`, COUNTERSIGN_MIN_PASS_RATE: '60' });
      expect([passing.status, passing.stdout]).toEqual([0, expect.stringContaining('ALLOWED')]);
      const { paths, reports } = gitlab['.countersign-gate'].artifacts;
      const [decision, attestation] = paths.map((path: string) => join(passing.jobFolder, path));
      expect(JSON.parse(readFileSync(decision, 'utf8')).allowed).toBe(true);
      expect(passing.stdout).toContain('verified by the public key of the instance');
      expect((await runCli(['verify', 'decision', attestation, '--trust', trust, '--allowed'])).status).toBe(0);
      expect(readFileSync(join(passing.jobFolder, reports.junit), 'utf8')).toContain('tests="4" failures="0"');
    },
    60_000,
  );

  test('exits with 2 without a package, and with 3 if the package cannot be installed or is not the client', async () => {
    const variables = { COUNTERSIGN_AGENT: 'good' };
    const empty = await gate({ ...variables, COUNTERSIGN_PACKAGE: '' });
    expect([empty.status, empty.stderr]).toEqual([2, expect.stringContaining('give the address or absolute path')]);
    expect((await gate({ ...variables, COUNTERSIGN_PACKAGE: join(ci.newJobFolder(), 'missing.tgz') })).status).toBe(3);
    const { status, stderr } = await gate({ ...variables, COUNTERSIGN_PACKAGE: await ci.packOther() });
    expect([status, stderr]).toEqual([3, expect.stringContaining('is not the package @countersign/client\n')]);
  }, 60_000);

  test('exits with 2 without a trust file, unless COUNTERSIGN_REQUIRE_VERIFY_KEY is false', async () => {
    const variables = { COUNTERSIGN_AGENT: 'good', COUNTERSIGN_TRUST_FILE: '' };
    for (const required of [{}, { COUNTERSIGN_REQUIRE_VERIFY_KEY: '' }, { COUNTERSIGN_REQUIRE_VERIFY_KEY: 'False' }]) {
      const { status, stderr } = await gate({ ...variables, ...required });
      expect([status, stderr]).toEqual([2, expect.stringContaining('COUNTERSIGN_TRUST_FILE')]);
    }
    const unverified = await gate({ ...variables, COUNTERSIGN_REQUIRE_VERIFY_KEY: 'false' });
    expect([unverified.status, unverified.stdout]).toEqual([0, expect.stringMatching(/signature +not checked/)]);
  }, 60_000);

  test('a job that requests no decision has no artifacts of an earlier pipeline', async () => {
    const { paths, reports } = gitlab['.countersign-gate'].artifacts;
    const earlier = Object.fromEntries([...paths, reports.junit].map((path) => [path, 'earlier']));
    const { status, jobFolder } = await gate({ COUNTERSIGN_AGENT: 'good', COUNTERSIGN_PACKAGE: '' }, earlier);
    expect([status, readdirSync(jobFolder).filter((name) => name in earlier)]).toEqual([2, []]);
  });

  // All ingestion keys of a workspace share their Idempotency-Keys. A sender who guesses the Idempotency-Key of a job could use it first.
  test('two runs with the same job ID have different Idempotency-Keys, so both evaluations are recorded', async () => {
    const variables = { COUNTERSIGN_AGENT: 'twice', CI_JOB_ID: '77' };
    const files = { 'report.xml': recentResults('junit.xml') };
    const [first, second] = [await record(variables, files), await record(variables, files)];
    expect([first.status, second.status]).toEqual([0, 0]);
    expect(second.stdout).not.toBe(first.stdout);
  }, 60_000);

  test('a blocked or pending decision fails the job, and the report contains the failed condition', async () => {
    const blocked = await gate({ COUNTERSIGN_AGENT: 'poor' });
    expect(blocked.status).toBe(1);
    expect(readFileSync(join(blocked.jobFolder, 'countersign-gate.xml'), 'utf8')).toContain('failures="1"');
    expect((await gate({ COUNTERSIGN_AGENT: 'risky' })).status).toBe(4);
  }, 60_000);

  test('treats variables with quotes and substitutions as plain names', async () => {
    const { status, jobFolder } = await gate({ COUNTERSIGN_AGENT: HOSTILE_NAME });
    expect(status).toBe(0);
    expect(readdirSync(jobFolder)).not.toContain('pwned');
    expect((await gate({ COUNTERSIGN_AGENT: 'a\nb' })).status).toBe(2);
    expect((await gate({})).status).toBe(2);
  }, 60_000);
});
