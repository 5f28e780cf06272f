import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { VERSION } from '../../src/version.ts';
import { type CiEnvironment, type CommandResult, createCiEnvironment, HOSTILE_NAME, textOf } from '../fixtures/ci-environment.ts';
import { runCli } from '../fixtures/run-cli.ts';

const action = parse(textOf('action.yml'));
let ci: CiEnvironment;
beforeAll(async () => {
  ci = await createCiEnvironment();
}, 120_000);

describe('action.yml', () => {
  const [step] = action.runs.steps;

  /** Runs the step as the runner does, with inputs as variables, the script in a file and the same bash flags. */
  async function runAction(
    inputs: Record<string, string>,
  ): Promise<CommandResult & { jobFolder: string; outputs: Map<string, string>; summary: string }> {
    const jobFolder = ci.newJobFolder();
    const values: Record<string, string> = { package: ci.archive, url: ci.server.url, 'api-key': ci.key, ...inputs };
    const inputOf = (name: string) => values[name] ?? action.inputs[name]?.default ?? '';
    const variables = Object.fromEntries(
      Object.entries(step.env as Record<string, string>).map(([name, value]) => [
        name,
        value.replace(/\$\{\{ inputs\.([a-z-]+) \}\}/g, (_, input) => inputOf(input)),
      ]),
    );
    const files = { GITHUB_OUTPUT: join(jobFolder, 'output'), GITHUB_STEP_SUMMARY: join(jobFolder, 'summary.md') };
    for (const file of Object.values(files)) writeFileSync(file, '');
    writeFileSync(join(jobFolder, 'script.sh'), step.run);
    const script = ['--noprofile', '--norc', '-e', '-o', 'pipefail', join(jobFolder, 'script.sh')];
    const runner = { GITHUB_ACTIONS: 'true', RUNNER_TEMP: jobFolder, GITHUB_WORKSPACE: jobFolder };
    const result = await ci.run('bash', script, jobFolder, { ...runner, ...files, ...variables });
    return {
      ...result,
      jobFolder,
      outputs: outputsOf(files.GITHUB_OUTPUT),
      summary: readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8'),
    };
  }

  /** Parses output variables as the runner does. */
  function outputsOf(file: string): Map<string, string> {
    const outputs = new Map<string, string>();
    const lines = readFileSync(file, 'utf8').split('\n');
    for (let at = 0; at < lines.length; at += 1) {
      const [, name, delimiter] = /^([^=<]+)<<(.+)$/.exec(lines[at]!) ?? [];
      if (name === undefined) {
        expect(lines[at]).toBe('');
        continue;
      }
      const end = lines.indexOf(delimiter!, at + 1);
      outputs.set(name, lines.slice(at + 1, end).join('\n'));
      at = end;
    }
    return outputs;
  }

  test('exits with 0 when allowed, with all outputs, a summary and the signed decision', async () => {
    const { status, stdout, outputs, summary } = await runAction({ agent: 'good', 'min-pass-rate': '90' });
    expect(status).toBe(0);
    expect(stdout).toContain('ALLOWED: good may be promoted');
    expect([...outputs.keys()].toSorted()).toEqual(Object.keys(action.outputs).toSorted());
    expect(Object.fromEntries(outputs)).toMatchObject({
      allowed: 'true',
      outcome: 'allowed',
      'exit-code': '0',
      reason: 'all_conditions_met',
    });
    expect(JSON.parse(readFileSync(outputs.get('decision-file')!, 'utf8'))).toMatchObject({
      allowed: true,
      decision_id: outputs.get('decision-id'),
    });
    expect(summary).toContain('### Promotion of good: allowed');
    const publicKey = (await runCommand(environmentOf(ci.server), 'signing-key', 'show', '--vkey')).out.trim();
    const checked = await runCli(['verify', 'decision', outputs.get('attestation-file')!, '--verify-key', publicKey, '--json']);
    expect([checked.status, JSON.parse(checked.out).decision]).toEqual([
      0,
      expect.objectContaining({ decision_id: outputs.get('decision-id') }),
    ]);
  }, 60_000);

  test.each([
    ['blocked', { agent: 'poor' }, 1],
    ['pending', { agent: 'risky' }, 4],
    ['undecided', { agent: 'good', 'api-key': 'aa_live_000000000000.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8' }, 3],
  ])(
    'fails the step when %s, with an error line and the outcome in the summary',
    async (outcome, inputs, code) => {
      const { status, stderr, outputs, summary } = await runAction(inputs as Record<string, string>);
      expect(status).toBe(code);
      expect(stderr).toMatch(new RegExp(`^::error title=Promotion ${outcome}::`, 'm'));
      expect(Object.fromEntries(outputs)).toMatchObject({ allowed: 'false', outcome, 'exit-code': String(code) });
      expect(summary).toContain(`: ${outcome}\n`);
      if (outcome === 'pending')
        expect(summary).toMatch(/^Approve the evaluation at <http:\/\/[\w.:]+\/w\/[0-9a-f-]{36}\/approvals\/[0-9a-f-]{36}> /m);
    },
    60_000,
  );

  test('treats inputs with quotes, substitutions and runner commands as plain names', async () => {
    const { status, stdout, stderr, jobFolder, outputs, summary } = await runAction({ agent: HOSTILE_NAME });
    expect(status).toBe(0);
    expect(readdirSync(jobFolder, { recursive: true })).not.toContain('pwned');
    expect((stdout + stderr).split('\n').filter((line) => /^\s*::/.test(line))).toEqual([]);
    expect(outputs.get('message')).toContain('may be promoted');
    expect(summary).not.toContain('${{');
  }, 60_000);

  test('does not turn an address in a name into a link', async () => {
    const { status, stdout, summary } = await runAction({ agent: 'see www.example.org' });
    expect([status, stdout]).toEqual([1, expect.stringContaining('www.example.org')]);
    expect(summary).toContain('### Promotion of see www&#46;example&#46;org: blocked');
    expect(summary).not.toMatch(/www\.|:\/\//);
  }, 60_000);

  test.each([
    ['a line break in a name', { agent: 'good\nallowed=true' }],
    ['an option as a value', { agent: 'good', harness: '', 'max-age-hours': '24 --agent good' }],
    ['no agent', {}],
    ['a required verify key that is empty', { agent: 'good', 'require-verify-key': 'true' }],
    ['an invalid value of require-verify-key', { agent: 'good', 'require-verify-key': 'True' }],
  ])(
    'exits with 2 for %s',
    async (_what, inputs) => {
      const { status, stderr, outputs } = await runAction(inputs as Record<string, string>);
      expect([status, outputs.get('allowed')]).toEqual([2, undefined]);
      expect(stderr.match(/^::.*$/gm)).toEqual([expect.stringMatching(/^::error title=countersign::/)]);
    },
    60_000,
  );

  test('verifies with a trust file (path or text) or with a public key and a workspace; rejects another workspace', async () => {
    const trustFileOf = async (workspace: string) =>
      (await runCommand(environmentOf(ci.server), 'trust', 'show', '--workspace', workspace)).out;
    const trust = await trustFileOf('acme');
    const file = join(tmpdir(), `countersign-c-trust-${process.pid}.json`);
    writeFileSync(file, trust);
    for (const given of [{ trust }, { 'trust-file': file }])
      expect((await runAction({ agent: 'good', ...given, 'require-verify-key': 'true' })).outputs.get('verified-by')).toBe(
        'the public key of the instance',
      );
    rmSync(file);
    await ci.server.workspace('elsewhere');
    expect((await runAction({ agent: 'good', trust: await trustFileOf('elsewhere') })).status).toBe(3);
    expect((await runAction({ agent: 'good', 'trust-file': 'nosuch.json' })).status).toBe(2);
    const publicKey = (await runCommand(environmentOf(ci.server), 'signing-key', 'show', '--vkey')).out.trim();
    expect((await runAction({ agent: 'good', 'verify-key': publicKey })).status).toBe(2);
    const workspace = JSON.parse(trust).workspace.id;
    expect((await runAction({ agent: 'good', 'verify-key': publicKey, workspace })).status).toBe(0);
  }, 120_000);

  test('runs a package only if it has the expected integrity', async () => {
    const { status, stdout } = await runAction({ agent: 'good', integrity: 'sha512-AAAA' });
    expect(status).toBe(3);
    const [, found] = /the integrity (sha512-\S+),/.exec(stdout) ?? [];
    expect((await runAction({ agent: 'good', integrity: found! })).status).toBe(0);
  }, 60_000);

  test('exits with 3 when the package cannot be installed, because no decision was made', async () => {
    const { status, stdout, outputs } = await runAction({ agent: 'good', package: join(ci.newJobFolder(), 'missing.tgz') });
    expect([status, outputs.get('allowed')]).toEqual([3, undefined]);
    expect(stdout).toContain('::error title=Countersign gate::the package could not be installed');
  }, 60_000);

  test('exits with 3 when the package is not the client', async () => {
    const { status, stdout, stderr } = await runAction({ agent: 'good', package: await ci.packOther() });
    expect([status, stderr]).toEqual([3, expect.not.stringContaining('MODULE_NOT_FOUND')]);
    expect(stdout).toContain('::error title=Countersign gate::the installed package is not @countersign/client');
  }, 60_000);

  test('exits with 2 if the input `package` is not set', async () => {
    const { status, stdout } = await runAction({ agent: 'good', package: '' });
    expect(status).toBe(2);
    expect(stdout).toContain("the input 'package' is not set");
  }, 60_000);

  test('requires the package and interpolates no input into its script; its examples name the current version', () => {
    expect(action.inputs.package).toMatchObject({ required: true });
    expect(action.inputs.package).not.toHaveProperty('default');
    expect(step.run).not.toContain('${{');
    expect(textOf('examples/ci/gitlab.yml')).toContain("COUNTERSIGN_PACKAGE: ''");
    const pinned = ['examples/ci/github.yml', 'examples/ci/README.md', 'README.md'].flatMap(
      (path) => textOf(path).match(/@countersign\/client@[\w.]+/g) ?? [],
    );
    expect(new Set(pinned)).toEqual(new Set([`@countersign/client@${VERSION}`]));
  });

  test('the example workflow does not start npx if the variable with the package is empty', async () => {
    const steps = parse(textOf('examples/ci/github.yml')).jobs.evaluate.steps as { run?: string }[];
    const script = steps.find(({ run }) => run?.includes('countersign evaluate record'))!.run!;
    const { status, stderr } = await ci.run('bash', ['-e', '-c', script], ci.newJobFolder(), { COUNTERSIGN_PACKAGE: '' });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/COUNTERSIGN_PACKAGE: .*not set$/m);
    expect(stderr).not.toContain('npm');
  }, 60_000);

  test('the example workflow sets only inputs that the action has, and all required ones', () => {
    const steps = Object.values(
      parse(textOf('examples/ci/github.yml')).jobs as Record<string, { steps: { uses?: string; with?: object }[] }>,
    ).flatMap((job) => job.steps);
    const uses = steps.find((each) => each.uses?.includes('/countersign@'));
    for (const name of Object.keys(uses!.with!)) expect(Object.keys(action.inputs)).toContain(name);
    const required = Object.keys(action.inputs).filter((name) => action.inputs[name].required);
    expect(Object.keys(uses!.with!)).toEqual(expect.arrayContaining(required));
  });
});
