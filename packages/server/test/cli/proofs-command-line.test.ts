import { generateKeyPairSync } from 'node:crypto';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCheckpoint, originOf, signCheckpoint } from '@countersign/core/domain/checkpoint';
import { parseLogProof } from '@countersign/core/domain/log-proof';
import { rootOfInclusion } from '@countersign/core/domain/merkle-proof';
import { leafHash } from '@countersign/core/domain/merkle-tree';
import { noteVerifierKey, parseNoteVerifierKey, toBase64 } from '@countersign/core/domain/signed-note';
import { unsignedHeadText } from '@countersign/core/domain/tree-head-header';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sha256, verifyEd25519 } from '../../src/crypto/digests.ts';
import { type CommandResult, environmentOf, runCommand } from '../fixtures/run-command.ts';
import { runVerifier } from '../harness/independent-verifier.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-proofs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const pathOf = (name: string) => join(folder, name);

let server: TestServer;
let environment: Record<string, string>;
let tenantId: string;
let key: string;

const run = (...args: string[]): Promise<CommandResult> => runCommand(environment, ...args);
const ledger = (...args: string[]) => run('ledger', args[0]!, '--workspace', 'acme', ...args.slice(1));
const verifyFile = (...args: string[]) => run('ledger', 'verify', '--file', pathOf('acme.ndjson'), ...args);
const append = (count: number) =>
  Promise.all(Array.from({ length: count }, () => server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' })));

beforeAll(async () => {
  server = await testServer();
  environment = environmentOf(server);
  tenantId = (await run('workspace', 'create', '--name', 'acme')).out.trim();
  key = await server.key(tenantId);
  await append(20);
  await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
  await ledger('checkpoint', '--output', pathOf('kept'));
  await append(15);
  await ledger('checkpoint', '--output', pathOf('kept-later'));
  await ledger('export', '--output', pathOf('acme.ndjson'));
  writeFileSync(pathOf('vkey'), (await run('signing-key', 'show', '--vkey')).out);
  writeFileSync(pathOf('jwks.json'), (await run('signing-key', 'show')).out);
});

describe('read tokens', () => {
  const readStatus = async (token: string) =>
    (await fetch(`${server.url}/api/ledger/audit/checkpoint`, { headers: { authorization: `Bearer ${token}` } })).status;

  test('`tokens mint` prints only the token; after a rotation or revocation, the next request with the old token fails', async () => {
    const { out, err, status } = await run('tokens', 'mint', '--workspace', 'acme', '--name', 'auditor');
    expect(status).toBe(0);
    expect(out).toMatch(/^aa_read_[0-9a-f]{12}\.[\w-]{43}\n$/);
    expect(err).not.toContain(out.trim());
    expect(await readStatus(out.trim())).toBe(200);
    const prefix = out.slice(0, 20);
    const rotated = (await run('tokens', 'rotate', '--workspace', 'acme', prefix)).out.trim();
    expect([await readStatus(out.trim()), await readStatus(rotated)]).toEqual([401, 200]);
    expect(await run('tokens', 'revoke', '--workspace', 'acme', prefix)).toMatchObject({ status: 0, out: '' });
    expect(await readStatus(rotated)).toBe(401);
    const listed = JSON.parse((await run('tokens', 'list', '--workspace', 'acme', '--json')).out);
    expect(listed).toEqual([expect.objectContaining({ prefix: prefix.slice(8), scopes: ['read'], state: 'revoked' })]);
    expect((await run('keys', 'list', '--workspace', 'acme')).out).not.toContain(prefix.slice(8));
  });

  test('`tokens` cannot change an ingestion key, and `keys` cannot change a read token', async () => {
    const token = (await run('tokens', 'mint', '--workspace', 'acme', '--name', 'other')).out.trim();
    expect(await run('tokens', 'revoke', '--workspace', 'acme', key.slice(0, 20))).toMatchObject({
      status: 9,
      err: expect.stringMatching(/an ingestion key: use `keys`/),
    });
    expect(await run('keys', 'rotate', '--workspace', 'acme', token.slice(8, 20))).toMatchObject({ status: 9 });
    expect(await readStatus(token)).toBe(200);
  });
});

describe('checkpoints and proofs', () => {
  test('`ledger checkpoint --log` prints a signed note of the log audit, decisions or keys', async () => {
    const keys = [parseNoteVerifierKey(readFileSync(pathOf('vkey'), 'utf8'), sha256)!];
    for (const [log, size] of [
      ['audit', 36],
      ['decisions', 1],
    ] as const) {
      const { out, status } = await ledger('checkpoint', '--log', log);
      expect(status).toBe(0);
      expect(openCheckpoint(out, keys, verifyEd25519, sha256)).toMatchObject({ head: { origin: originOf(tenantId, log), size } });
      expect(JSON.parse((await ledger('checkpoint', '--log', log, '--json')).out)).toMatchObject({ log, size, checkpoint: out });
    }
    expect((await ledger('checkpoint', '--log', 'keys')).out).toMatch(new RegExp(`^${originOf(tenantId, 'keys')}\n[1-9]`));
  });

  test('`ledger checkpoint --output` replaces only a checkpoint that the new one extends', async () => {
    const replaceKept = (...args: string[]) => ledger('checkpoint', '--output', pathOf('kept-again'), ...args);
    expect(await replaceKept()).toMatchObject({ status: 0 });
    const first = readFileSync(pathOf('kept-again'), 'utf8');
    await append(1);
    expect(await replaceKept()).toMatchObject({ status: 0 });
    const second = readFileSync(pathOf('kept-again'), 'utf8');
    expect(second).not.toBe(first);
    for (const [existingText, args, status, why] of [
      [second, ['--log', 'decisions'], 9, /not a checkpoint of this log/],
      [second.replace(/^— .*$/m, '— somebody AAAAAAA='), [], 9, /not a checkpoint of this log/],
      ['notes of mine\n', [], 9, /choose another name/],
    ] as const) {
      writeFileSync(pathOf('kept-again'), existingText);
      expect(await replaceKept(...args)).toEqual({ status, out: '', err: expect.stringMatching(why) });
      expect(readFileSync(pathOf('kept-again'), 'utf8')).toBe(existingText);
    }
    const [signer] = server.open.signer.keys;
    for (const size of [20, 4000]) {
      const otherCheckpoint = signCheckpoint(
        { origin: originOf(tenantId, 'audit'), size, root: new Uint8Array(32) },
        [signer!],
        sha256,
      );
      writeFileSync(pathOf('kept-again'), otherCheckpoint);
      expect(await replaceKept()).toEqual({
        status: 1,
        out: '',
        err: expect.stringMatching(/does not continue the checkpoint in/),
      });
      expect(readFileSync(pathOf('kept-again'), 'utf8')).toBe(otherCheckpoint);
    }
    const nowhere = await ledger('checkpoint', '--output', pathOf('nowhere/kept'));
    expect(nowhere).toEqual({
      status: 2,
      out: '',
      err: expect.stringMatching(/there is no folder ".*nowhere"; create it first/),
    });
  });

  test('`ledger prove` prints a proof that the checkpoint includes the row, and fails for an unknown row', async () => {
    const row = JSON.parse(readFileSync(pathOf('acme.ndjson'), 'utf8').split('\n')[16]!);
    const proof = parseLogProof((await ledger('prove', '--seq', '17')).out)!;
    const [, size, root] = proof.checkpoint.split('\n');
    const leaf = leafHash(Buffer.from(row.row_hash, 'hex'), sha256);
    expect(toBase64(rootOfInclusion(16, Number(size), leaf, proof.hashes, sha256)!)).toBe(root);
    expect(await ledger('prove', '--seq', '4000')).toMatchObject({ status: 9, out: '' });
    for (const seq of ['0', '-1', 'x', '1.5', '99999999999999999']) expect((await ledger('prove', '--seq', seq)).status).toBe(2);
  });
});

test('`ledger verify` finds the logs audit, decisions and keys of a workspace valid, and accepts a kept checkpoint', async () => {
  for (const log of ['audit', 'decisions', 'keys'])
    expect(await ledger('verify', '--log', log), log).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^valid: \d+ entr/),
    });
  expect(await ledger('verify', '--checkpoint', pathOf('kept'), '--key', pathOf('vkey'))).toMatchObject({ status: 0 });
});

describe('offline verification', () => {
  test('an export matches every kept checkpoint and head, with the key as text, vkey file or JWKS', async () => {
    const [, size, root] = readFileSync(pathOf('kept'), 'utf8').split('\n');
    const head = unsignedHeadText('audit', Number(size), Buffer.from(root!, 'base64'));
    for (const keyOption of [readFileSync(pathOf('vkey'), 'utf8').trim(), pathOf('vkey'), pathOf('jwks.json')]) {
      const { status, out } = await verifyFile(
        ...['--checkpoint', pathOf('kept'), '--checkpoint', pathOf('kept-later'), '--head', head, '--key', keyOption],
      );
      expect([status, out]).toEqual([
        0,
        expect.stringMatching(/^valid: 36 entries, head [0-9a-f]{64}, matches all 3 kept heads\n$/),
      ]);
    }
    const report = JSON.parse(
      (await verifyFile('--head', `Countersign-Checkpoint: ${head}, decisions;size=1;root=:${root}:`, '--json')).out,
    );
    expect(report).toMatchObject({ result: 'ok', entries: 36, heads_met: 1 });
  });

  test('an export of the decision log matches its checkpoint', async () => {
    await ledger('export', '--log', 'decisions', '--output', pathOf('decisions.ndjson'));
    await ledger('checkpoint', '--log', 'decisions', '--output', pathOf('kept-decisions'));
    const args = ['--log', 'decisions', '--checkpoint', pathOf('kept-decisions'), '--key', pathOf('vkey')];
    expect(await run('ledger', 'verify', '--file', pathOf('decisions.ndjson'), ...args)).toMatchObject({ status: 0 });
  });

  test('`ledger verify` exits with 1 if a checkpoint is altered or from another workspace or key, with 2 for other files', async () => {
    const otherTenantId = (await run('workspace', 'create', '--name', 'other')).out.trim();
    const { publicKey } = generateKeyPairSync('ed25519');
    const raw = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
    const otherKey = noteVerifierKey(
      { name: parseNoteVerifierKey(readFileSync(pathOf('vkey'), 'utf8'), sha256)!.name, publicKey: raw },
      sha256,
    );
    writeFileSync(pathOf('foreign'), (await run('ledger', 'checkpoint', '--workspace', 'other')).out);
    writeFileSync(pathOf('of-decisions'), (await ledger('checkpoint', '--log', 'decisions')).out);
    writeFileSync(pathOf('altered'), readFileSync(pathOf('kept'), 'utf8').replace('\n21\n', '\n20\n'));
    writeFileSync(pathOf('empty'), '');
    writeFileSync(pathOf('binary'), Buffer.from([0, 255, 254, 10, 10, 200]));
    const unknownSignature = Buffer.from('\xe2\x80\x94 other\xff AQIDBAU=\n', 'latin1'); // The name in this line is not UTF-8.
    writeFileSync(pathOf('not-utf8'), Buffer.concat([readFileSync(pathOf('kept')), unknownSignature]));
    const wrong: [string, RegExp][] = [
      ['not-utf8', /is not a checkpoint/],
      ['of-decisions', /of-decisions" is a checkpoint of the log decisions, not of audit/],
      ['empty', /is not a checkpoint/],
      ['binary', /is not a checkpoint/],
      ['acme.ndjson', /is not a checkpoint/],
    ];
    for (const [name, reason] of wrong) {
      const { status, out, err } = await verifyFile('--checkpoint', pathOf(name), '--key', pathOf('vkey'));
      expect([status, out, err], name).toEqual([2, '', expect.stringMatching(reason)]);
    }
    const cases: [string, string, RegExp][] = [
      [
        'foreign',
        pathOf('vkey'),
        new RegExp(`the checkpoint belongs to "countersign/${otherTenantId}", but this log is countersign/${tenantId}`),
      ],
      ['kept', otherKey, /none of the known keys has signed it/],
      ['altered', pathOf('vkey'), /the signature of countersign\/\S+ is wrong/],
    ];
    for (const [name, keyOption, reason] of cases) {
      const { status, out, err } = await verifyFile('--checkpoint', pathOf(name), '--key', keyOption);
      expect([status, err], name).toEqual([1, '']);
      expect(out, name).toMatch(reason);
      const report = JSON.parse((await verifyFile('--checkpoint', pathOf(name), '--key', keyOption, '--json')).out);
      expect(report, name).toMatchObject({
        result: 'broken',
        not_met: { source: pathOf(name), reason: expect.stringMatching(reason) },
      });
    }
  });

  test.each([
    [['--checkpoint', pathOf('kept')], /--checkpoint needs --key/],
    [['--checkpoint', pathOf('absent'), '--key', pathOf('vkey')], /not a file that can be read/],
    [['--checkpoint', pathOf('kept'), '--key', pathOf('absent')], /is not a verifier key/],
    [['--checkpoint', pathOf('kept'), '--key', pathOf('kept')], /contains neither verifier keys/],
    [['--key', pathOf('acme.ndjson')], /contains neither verifier keys/],
    [['--head', 'audit;size=6'], /must be a Countersign-Checkpoint header/],
    [['--head', 'x'.repeat(100_000)], /must be a Countersign-Checkpoint header/],
    [
      ['--head', 'decisions;size=0;root=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'],
      /contains no head of the log audit; it contains decisions/,
    ],
    [['--log', 'keys'], /export of the log audit.*--log audit/],
  ])('the usage error %j exits with 2 and prints one line on stderr', async (args, message) => {
    const { status, out, err } = await verifyFile(...args);
    expect([status, out]).toEqual([2, '']);
    expect(err).toMatch(message);
    expect(err).toMatch(/^countersign-server: [^\n]+\n$/);
  });
});

test('`ledger verify` and the Python verifier accept an export of the key audit trail, and reject an altered one', async () => {
  await run(
    'keys',
    'mint',
    '--workspace',
    'acme',
    '--name',
    'expires',
    '--scopes',
    'audit',
    '--expires',
    '2033-12-31T12:00:00+02:00',
  );
  expect((await ledger('checkpoint', '--log', 'keys', '--output', pathOf('kept-keys'))).status).toBe(0);
  const { err } = await ledger('export', '--log', 'keys', '--output', pathOf('keys.ndjson'));
  const lines = readFileSync(pathOf('keys.ndjson'), 'utf8').trimEnd().split('\n');
  expect(err).toContain(`exported ${lines.length} entries`);
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ action: 'minted', name: 'expires', tenant_id: tenantId, seq: lines.length });
  const verifyWithPython = (file: string) =>
    runVerifier(['keys', file, '--checkpoint', pathOf('kept-keys'), '--key', pathOf('jwks.json')]);
  const verifyWithCommand = (file: string) =>
    run('ledger', 'verify', '--file', file, '--log', 'keys', '--checkpoint', pathOf('kept-keys'), '--key', pathOf('vkey'));
  for (const verify of [verifyWithCommand, verifyWithPython]) {
    const valid = new RegExp(`^valid: ${lines.length} `);
    expect(await verify(pathOf('keys.ndjson'))).toMatchObject({ status: 0, out: expect.stringMatching(valid) });
  }
  writeFileSync(pathOf('altered-keys.ndjson'), `${lines.join('\n').replace('"expires"', '"expired"')}\n`);
  for (const verify of [verifyWithCommand, verifyWithPython]) {
    const result = await verify(pathOf('altered-keys.ndjson'));
    expect(result).toMatchObject({ status: 1, out: expect.stringMatching(/^broken: /) });
  }
});

describe('a file that is not a valid export of the log', () => {
  const verifyContent = (name: string, content: string | Uint8Array) => {
    writeFileSync(pathOf(name), content);
    return run('ledger', 'verify', '--file', pathOf(name), '--checkpoint', pathOf('kept'), '--key', pathOf('vkey'));
  };
  const lines = () => readFileSync(pathOf('acme.ndjson'), 'utf8').trimEnd().split('\n');
  const joinLines = (rows: readonly string[]) => rows.map((row) => `${row}\n`).join('');

  test.each<[string, () => string | Uint8Array, RegExp]>([
    ['truncated within a line', () => joinLines(lines()).slice(0, -100), /^broken at seq 36: the line is not JSON/],
    [
      'truncated between two lines',
      () => joinLines(lines().slice(0, 15)),
      /kept: it covers 21 rows, but the log ends after 15: its tail was cut off/,
    ],
    ['empty', () => '', /kept: it covers 21 rows, but the log ends after 0/],
    ['binary', () => Buffer.from([0x1f, 0x8b, 8, 0, 0, 255, 10, 254]), /^broken at seq 1: the line is not UTF-8/],
    ['NUL bytes', () => new Uint8Array(100_000), /^broken at seq 1: the line is not JSON/],
    ['reordered', () => joinLines(lines().toReversed()), /^broken at seq 1: seq is 36, expected 1/],
    ['two swapped rows', () => joinLines(lines().with(4, lines()[5]!).with(5, lines()[4]!)), /^broken at seq 5: seq is 6/],
    ['only the middle rows', () => joinLines(lines().slice(10)), /^broken at seq 1: seq is 11/],
    ['two copies of the export', () => joinLines([...lines(), ...lines()]), /^broken at seq 37: seq is 1, expected 37/],
    ['UTF-16', () => Buffer.from(joinLines(lines()), 'utf16le'), /^broken at seq 1: /],
    ['a list', () => `[${lines().join(',')}]\n`, /^broken at seq 1: the row is not an object/],
    ['unclosed brackets', () => '['.repeat(1_000_000), /^broken at seq 1: the line is nested deeper/],
    ['a checkpoint', () => readFileSync(pathOf('kept')), /^broken at seq 1: the line is not JSON/],
  ])('makes `ledger verify` exit with 1 and print the reason in one line: %s', async (_, content, reason) => {
    const { status, out, err } = await verifyContent('altered', content());
    expect([status, err]).toEqual([1, '']);
    expect(out).toMatch(reason);
    expect(out.trimEnd()).not.toContain('\n');
  });

  test.each<[string, RegExp]>([
    ['{"seq":1}', /the line is not \{"seq"/],
    ['{"seq":2,"decision":{}}', /seq is 2, expected 1/],
    ['{"seq":1,"decision":[]}', /the line is not/],
    ['{"seq":1,"decision":{},"more":1}', /the line is not/],
    ['{"seq":1,"decision":{"response_sha256":"x"}}', /allowed is not true or false/],
    ['null', /the line is not/],
    ['{"seq":1,"decision":{"a":1e999}}', /is not exact|not JSON/],
    ['{"seq":1,"decision":{"a":"\\ud800"}}', /half of a surrogate pair/],
  ])('makes `ledger verify` report the invalid line %s of an export of decisions', async (line, reason) => {
    writeFileSync(pathOf('altered'), `${line}\n`);
    const { status, out, err } = await run('ledger', 'verify', '--file', pathOf('altered'), '--log', 'decisions');
    expect([status, err]).toEqual([1, '']);
    expect(out).toMatch(reason);
  });

  test('is a usage error if it is an export of another log, and the message names the option', async () => {
    await ledger('export', '--log', 'decisions', '--output', pathOf('decisions.ndjson'));
    const decisions = await run('ledger', 'verify', '--file', pathOf('decisions.ndjson'));
    expect(decisions).toEqual({
      status: 2,
      out: '',
      err: expect.stringMatching(/export of the log decisions.*--log decisions\n$/),
    });
    const audit = await verifyFile('--log', 'decisions');
    expect(audit).toEqual({ status: 2, out: '', err: expect.stringMatching(/export of the log audit.*--log audit\n$/) });
  });

  test('with a line of 1 GiB is rejected at the length limit; a checkpoint or key file of 1 GiB is a usage error', async () => {
    const file = openSync(pathOf('sparse'), 'w');
    ftruncateSync(file, 1024 ** 3);
    closeSync(file);
    for (const log of ['audit', 'decisions', 'keys']) {
      const { status, out } = await run('ledger', 'verify', '--file', pathOf('sparse'), '--log', log);
      expect([status, out]).toEqual([1, 'broken at seq 1: the line is longer than 67108864 bytes\n']);
    }
    expect((await verifyFile('--checkpoint', pathOf('sparse'), '--key', pathOf('vkey'))).status).toBe(2);
    expect((await verifyFile('--checkpoint', pathOf('kept'), '--key', pathOf('sparse'))).status).toBe(2);
  });
});
