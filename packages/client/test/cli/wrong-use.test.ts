import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { runCli } from '../fixtures/run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-wrong-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const KEY = `aa_live_4f9a02c7d1e6.${SECRET}`;
const environment = { COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_API_KEY: KEY };
const noFetch = (() => {
  throw new Error('something was sent');
}) as typeof fetch;
const run = (args: string[], variables: Record<string, string> = environment, input = '') =>
  runCli(args, { environment: variables, fetch: noFetch, input: async () => Buffer.from(input) });
const inFile = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const gateArgs = ['gate', '--agent', 'a'];
const recordArgs = ['evaluate', 'record', '--agent', 'a', '--name', 'n', '--pass-rate', '90'];

describe('a usage error exits with 2, sends no request and names the cause', () => {
  test.each<[string, string[], RegExp]>([
    ['no command', [], /a command is missing/],
    ['an unknown command', ['promote'], /unknown command "promote"/],
    ['an unknown command with options', ['promote', '--agent', 'bot'], /unknown command "promote"/],
    ['an unknown command of two words', ['audit-log', 'append', 'it'], /unknown command "audit-log append"/],
    ['an unknown command with a direction mark', ['pro\u061cmote'], /unknown command "pro mote"/],
    ['the first word of a command', ['evaluate', '--agent', 'a'], /"evaluate" needs a second word: evaluate record/],
    ['a misspelled second word', ['verify', 'desicion'], /needs a second word: verify decision, verify ledger/],
    ['an unknown option', [...gateArgs, '--min-pass-rat', '95'], /Unknown option '--min-pass-rat'/],
    ['an extra argument', [...gateArgs, 'b'], /takes no argument "b"/],
    ['--help as the name of an agent', ['gate', '--agent', '--help'], /'--agent' argument is ambiguous/],
    ['-h as the name of an agent', ['gate', '--agent', '-h', '--min-pass-rate', '90'], /'--agent' argument is ambiguous/],
    ['an unknown short option with an h', [...gateArgs, '-bosh'], /Unknown option '-b'/],
    ['--help with a value', [...gateArgs, '--help=me'], /--help/],
    ['a repeated option', [...gateArgs, '--agent', 'b'], /--agent is given twice/],
    ['no agent', ['gate'], /no agent given/],
    ['an empty agent', ['gate', '--agent', ''], /--agent is empty/],
    ['a line break in a name', ['gate', '--agent', 'a\nb'], /line break/],
    ['a percentage with a percent sign', [...gateArgs, '--min-pass-rate', '90%'], /--min-pass-rate takes a number/],
    ['a percentage above 100', [...gateArgs, '--min-pass-rate', '900'], /from 0 to 100/],
    ['a negative percentage', [...gateArgs, '--min-pass-rate=-1'], /from 0 to 100/],
    ['an age of 0', [...gateArgs, '--max-age-hours', '0'], /from 1 to 8760/],
    ['a fractional age', [...gateArgs, '--max-age-hours', '1.5'], /whole number/],
    ['a waiting time without a unit', [...gateArgs, '--wait', '30'], /--wait takes a time/],
    ['a malformed ID', ['gate', '--agent-id', 'a'], /UUID/],
    ['an invalid address', [...gateArgs, '--url', 'countersign'], /address/],
    [
      'an address with a password',
      [...gateArgs, '--url', 'https://ci:pass@countersign.example.com'],
      /must not contain a user, password/,
    ],
    ['http: to another machine', [...gateArgs, '--url', 'http://countersign.example.com'], /unencrypted/],
    [
      'one file for the decision and the attestation',
      [...gateArgs, '--output', join(folder, 'same'), '--attestation', join(folder, '.', 'same')],
      /--output and --attestation name the same file/,
    ],
    ['a missing key file', [...gateArgs, '--verify-key', join(folder, 'none')], /cannot read/],
    ['an endless key file', [...gateArgs, '--verify-key', '/dev/zero'], /is larger than the limit of 1048576 bytes/],
    ['a folder as a key file', [...gateArgs, '--verify-key', folder], /cannot read .*EISDIR/],
    ['an empty key file', [...gateArgs, '--verify-key', inFile('empty', '\n')], /it is empty/],
    ['a key file without a key', [...gateArgs, '--verify-key', inFile('text', 'hello')], /invalid key/],
    ['an unset variable', [...gateArgs, '--verify-key', 'env:NOT_SET'], /NOT_SET contains no key/],
    ['no key with --require-verify-key', [...gateArgs, '--require-verify-key'], /no key was given/],
    ['two results files', ['evaluate', 'record', '--agent', 'a', '--junit', 'a', '--promptfoo', 'b'], /give one results file/],
    [
      'a result from both a file and options',
      ['evaluate', 'record', '--agent', 'a', '--junit', 'a', '--pass-rate', '99'],
      /cannot be combined/,
    ],
    [
      'a line break in an idempotency key',
      ['evaluate', 'record', '--agent', 'a', '--name', 'n', '--pass-rate', '9', '--idempotency-key', 'a\nb'],
      /--idempotency-key takes 1 to 255 printable/,
    ],
    [
      'an idempotency key that is too long',
      ['audit', 'append', '--actor', 'a', '--action', 'b', '--idempotency-key', 'a'.repeat(256)],
      /--idempotency-key takes 1 to 255 printable/,
    ],
    ['a metric without a log of Inspect AI', [...recordArgs, '--metric', 'm'], /--metric needs --inspect/],
    [
      '--ignore-skipped without a JUnit report',
      ['evaluate', 'record', '--agent', 'a', '--promptfoo', 'a', '--ignore-skipped'],
      /--ignore-skipped needs --junit/,
    ],
    ['--allow-partial without a results file', [...recordArgs, '--allow-partial'], /--allow-partial needs a results file/],
    ['a passing evaluation without a rate', ['evaluate', 'record', '--agent', 'a', '--name', 'n'], /needs --pass-rate/],
    ['an evaluation without an agent', ['evaluate', 'record', '--name', 'n', '--pass-rate', '9'], /no agent given/],
    ['an audit entry without an action', ['audit', 'append', '--actor', 'a'], /--actor and --action/],
    ['no trace file', ['trace', 'send'], /give one FILE/],
    ['no key to verify a decision', ['verify', 'decision', inFile('d.json', '{}')], /no key: give/],
    [
      'a checkpoint without a public key',
      ['verify', 'ledger', inFile('l', ''), '--checkpoint', inFile('c', 'x')],
      /--verify-key/,
    ],
    [
      'an audit ledger that cannot be read',
      ['verify', 'ledger', inFile('keys', ''), '--log', 'keys', '--audit', folder],
      new RegExp(`cannot read "${folder}"`),
    ],
    ['an unknown scope', ['doctor', '--scopes', 'all'], /--scopes takes a list of/],
  ])('%s', async (_what, args, why) => {
    const text = await run(args);
    expect({ status: text.status, out: text.out }).toEqual({ status: 2, out: '' });
    expect(text.err).toMatch(why);
    const json = await run([...args, '--json']);
    expect([json.status, json.out]).toEqual([2, '']);
    expect(JSON.parse(json.err)).toEqual({ error: 'wrong_use', message: expect.stringMatching(why) });
  });
});

describe('an output with the path of a file that the gate reads is a usage error, and the file is unchanged', () => {
  const decisionKey = 'cd'.repeat(32);
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['the trust file', ['--trust', 'kept', '--output', 'kept'], {}, /--trust and --output name the same file/],
    ['a key file', ['--verify-key', 'kept', '--attestation', 'kept'], {}, /--verify-key and --attestation name the same file/],
    [
      'the trust file of the environment',
      ['--junit', 'kept'],
      { COUNTERSIGN_TRUST_FILE: 'kept' },
      /COUNTERSIGN_TRUST_FILE and --junit/,
    ],
    [
      'the key file of the environment',
      ['--output', 'kept'],
      { COUNTERSIGN_VERIFY_KEY_FILE: 'kept' },
      /COUNTERSIGN_VERIFY_KEY_FILE and --output/,
    ],
    ['a key file, by a symbolic link', ['--verify-key', 'kept', '--output', 'link'], {}, /--verify-key and --output/],
  ])('%s', async (_what, options, variables, why) => {
    const keyFile = inFile('kept', decisionKey);
    rmSync(join(folder, 'link'), { force: true });
    symlinkSync(keyFile, join(folder, 'link'));
    const inFolder = (text: string) => text.replace(/(kept|link)$/, (name) => join(folder, name));
    const given = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, inFolder(value)]));
    const { status, err } = await run([...gateArgs, ...options.map(inFolder)], { ...environment, ...given });
    expect([status, err]).toEqual([2, expect.stringMatching(why)]);
    expect(readFileSync(keyFile, 'utf8')).toBe(decisionKey);
  });
});

test('--json and --debug can precede the command', async () => {
  const { status, err } = await run(['--json', '--debug', 'gate']);
  expect([status, err]).toEqual([2, expect.stringMatching(/^{"error":"wrong_use","message":"no agent given/)]);
});

describe('an ingestion key', () => {
  test('that is missing, malformed or of the wrong kind is reported without its text', async () => {
    const { COUNTERSIGN_URL } = environment;
    expect((await run(gateArgs, { COUNTERSIGN_URL })).err).toMatch(/set COUNTERSIGN_API_KEY/);
    expect((await run([...gateArgs, '--key-stdin'], { COUNTERSIGN_URL })).err).toMatch(/standard input is empty/);
    for (const given of [`${KEY}x`, `Bearer ${KEY}`, 'hunter2hunter2', KEY.replace('live', 'read')]) {
      const { status, err } = await run(gateArgs, { COUNTERSIGN_URL, COUNTERSIGN_API_KEY: given });
      expect(status).toBe(2);
      expect(err).not.toContain(SECRET);
      expect(err).not.toContain('hunter2');
    }
  });

  test('is rejected anywhere on the command line and not printed', async () => {
    for (const args of [
      [...gateArgs, '--key', KEY],
      [...gateArgs, `--key=${KEY}`],
      [...gateArgs, KEY],
      ['gate', '--agent', KEY],
    ]) {
      const { status, err } = await run(args);
      expect([status, err]).toEqual([2, expect.stringContaining('rotate the key')]);
      expect(err).not.toContain(SECRET);
    }
  });
});

test('a decision key is rejected on the command line and as the path of a file, and is not printed', async () => {
  const { status, err } = await run([...gateArgs, '--verify-key', 'ab'.repeat(32)]);
  expect([status, err]).toEqual([2, expect.stringContaining('other users can read the command line')]);
  expect(err).not.toContain('abab');
  const inVariable = await run(gateArgs, { ...environment, COUNTERSIGN_VERIFY_KEY_FILE: 'ab'.repeat(32) });
  expect([inVariable.status, inVariable.err]).toEqual([2, expect.stringContaining('takes the path of a file')]);
  expect(inVariable.err).not.toContain('abab');
});

describe('help', () => {
  test('the overview lists every command and exit code', async () => {
    const { status, out } = await run(['--help'], {});
    expect(out).toContain('countersign --version');
    expect(status).toBe(0);
    for (const { name } of COMMANDS) expect(out).toContain(`\n  ${name}`);
    for (const { status: code } of Object.values(EXIT_CODES)) expect(out).toMatch(new RegExp(`^  ${code} `, 'm'));
  });

  test('is not shown for --help after --', async () => {
    expect(await run([...gateArgs, '--', '--help'])).toMatchObject({ status: 2, out: '' });
  });

  test.each(['verify', 'audit', 'trace', 'evaluate'])('%s --help lists only the commands of that group', async (word) => {
    for (const flag of ['--help', '-h']) {
      const { status, out, err } = await run([word, flag], {});
      expect([status, err]).toEqual([0, '']);
      for (const { name } of COMMANDS) expect(out.includes(`\n  ${name}`), name).toBe(name.startsWith(`${word} `));
    }
  });

  test.each(COMMANDS.map(({ name, options }) => [name, Object.keys(options)] as const))(
    '%s --help lists every option',
    async (name, options) => {
      const { status, out, err } = await run([...name.split(' '), '--help'], {});
      expect([status, err]).toEqual([0, '']);
      for (const option of [...options, 'json', 'debug', 'help']) expect(out).toContain(`--${option}`);
      expect(out.split('\n').filter((line) => line.length > 150)).toEqual([]);
    },
  );
});
