import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
const agent = ['gate', '--agent', 'a'];

describe('wrong use ends with 2, sends nothing and says what to do', () => {
  test.each<[string, string[], RegExp]>([
    ['no command', [], /a command is missing/],
    ['an unknown command', ['promote'], /unknown command "promote"/],
    ['half a command', ['evaluate', '--agent', 'a'], /"evaluate" needs a second word: evaluate record/],
    ['half of two commands', ['verify', 'desicion'], /needs a second word: verify decision, verify ledger/],
    ['an unknown option', [...agent, '--min-pass-rat', '95'], /Unknown option '--min-pass-rat'/],
    ['an argument too many', [...agent, 'b'], /takes no argument "b"/],
    ['an option twice', [...agent, '--agent', 'b'], /--agent is given twice/],
    ['no agent', ['gate'], /no agent given/],
    ['an empty agent', ['gate', '--agent', ''], /--agent is empty/],
    ['a line break in a name', ['gate', '--agent', 'a\nb'], /line break/],
    ['a percentage with a sign', [...agent, '--min-pass-rate', '90%'], /--min-pass-rate takes a number/],
    ['a percentage beyond 100', [...agent, '--min-pass-rate', '900'], /from 0 to 100/],
    ['a negative percentage', [...agent, '--min-pass-rate=-1'], /from 0 to 100/],
    ['an age of 0', [...agent, '--max-age-hours', '0'], /from 1 to 8760/],
    ['an age in parts of an hour', [...agent, '--max-age-hours', '1.5'], /whole number/],
    ['a waiting time without a unit', [...agent, '--wait', '30'], /--wait takes a time/],
    ['an id that is none', ['gate', '--agent-id', 'a'], /UUID/],
    ['an invalid address', [...agent, '--url', 'countersign'], /address/],
    ['http: to another machine', [...agent, '--url', 'http://countersign.example.com'], /unencrypted/],
    ['a key file that is not there', [...agent, '--verify-key', join(folder, 'none')], /cannot read/],
    ['a key file that is empty', [...agent, '--verify-key', inFile('empty', '\n')], /it is empty/],
    ['a key file that holds no key', [...agent, '--verify-key', inFile('text', 'hello')], /invalid key/],
    ['a variable that is not set', [...agent, '--verify-key', 'env:NOT_SET'], /NOT_SET holds no key/],
    ['no key to verify with, where one is required', [...agent, '--require-verify-key'], /no key was given/],
    ['two files of results', ['evaluate', 'record', '--agent', 'a', '--junit', 'a', '--promptfoo', 'b'], /give one results file/],
    [
      'a result that is said twice',
      ['evaluate', 'record', '--agent', 'a', '--junit', 'a', '--pass-rate', '99'],
      /cannot be combined/,
    ],
    ['a passing evaluation without a rate', ['evaluate', 'record', '--agent', 'a', '--name', 'n'], /needs --pass-rate/],
    ['an evaluation of nobody', ['evaluate', 'record', '--name', 'n', '--pass-rate', '9'], /no agent given/],
    ['an audit entry without an action', ['audit', 'append', '--actor', 'a'], /--actor and --action/],
    ['no file of traces', ['trace', 'send'], /give one FILE/],
    ['no key to verify by', ['verify', 'decision', inFile('d.json', '{}')], /no key: give/],
    ['a checkpoint without its key', ['verify', 'ledger', inFile('l', ''), '--checkpoint', inFile('c', 'x')], /--verify-key/],
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

describe('the key', () => {
  test('is missing, malformed, of the wrong kind: said without repeating it', async () => {
    const { COUNTERSIGN_URL } = environment;
    expect((await run(agent, { COUNTERSIGN_URL })).err).toMatch(/set COUNTERSIGN_API_KEY/);
    expect((await run([...agent, '--key-stdin'], { COUNTERSIGN_URL })).err).toMatch(/standard input is empty/);
    for (const given of [`${KEY}x`, `Bearer ${KEY}`, 'hunter2hunter2', KEY.replace('live', 'read')]) {
      const { status, err } = await run(agent, { COUNTERSIGN_URL, COUNTERSIGN_API_KEY: given });
      expect(status).toBe(2);
      expect(err).not.toContain(SECRET);
      expect(err).not.toContain('hunter2');
    }
  });

  test('is refused in the command line, wherever it stands there, and not repeated', async () => {
    for (const args of [
      [...agent, '--key', KEY],
      [...agent, `--key=${KEY}`],
      [...agent, KEY],
      ['gate', '--agent', KEY],
    ]) {
      const { status, err } = await run(args);
      expect([status, err]).toEqual([2, expect.stringContaining('rotate the key')]);
      expect(err).not.toContain(SECRET);
    }
  });

  test('a decision key in the command line is refused and not repeated', async () => {
    const { status, err } = await run([...agent, '--verify-key', 'ab'.repeat(32)]);
    expect([status, err]).toEqual([2, expect.stringContaining('other users can read the command line')]);
    expect(err).not.toContain('abab');
  });
});

describe('help', () => {
  test('the overview names every command and every exit code', async () => {
    const { status, out } = await run(['--help'], {});
    expect(out).toContain('countersign --version');
    expect(status).toBe(0);
    for (const { name } of COMMANDS) expect(out).toContain(`\n  ${name}`);
    for (const { status: code } of Object.values(EXIT_CODES)) expect(out).toMatch(new RegExp(`^  ${code} `, 'm'));
  });

  test.each(['verify', 'audit', 'trace', 'evaluate'])('%s --help lists what begins so', async (word) => {
    for (const flag of ['--help', '-h']) {
      const { status, out, err } = await run([word, flag], {});
      expect([status, err]).toEqual([0, '']);
      for (const { name } of COMMANDS) expect(out.includes(`\n  ${name}`), name).toBe(name.startsWith(`${word} `));
    }
  });

  test.each(COMMANDS.map(({ name, options }) => [name, Object.keys(options)] as const))(
    '%s --help says every option',
    async (name, options) => {
      const { status, out, err } = await run([...name.split(' '), '--help'], {});
      expect([status, err]).toEqual([0, '']);
      for (const option of [...options, 'json', 'debug', 'help']) expect(out).toContain(`--${option}`);
      expect(out.split('\n').filter((line) => line.length > 150)).toEqual([]);
    },
  );
});
