import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIST_EVERY_MS, until } from '../../../embedded-database/test/harness/processes.ts';
import { newKey, outputOf } from '../../../server/test/fixtures/run-command.ts';
import { CommandProcess, DataFolder, ServerProcess } from '../../../server/test/fixtures/server-process.ts';
import { paths } from '../../../server/test/harness/test-server.ts';
import { runCli } from '../fixtures/run-cli.ts';
import { type StubServer, stubServer } from '../fixtures/stub-server.ts';

const data = DataFolder.migrated();
let server: ServerProcess | undefined;
let stub: StubServer;
let key: string;

beforeAll(async () => {
  stub = await stubServer();
  server = await ServerProcess.start(data.environment);
  ({ key } = await newKey(data.environment, 'shop'));
  await fetch(server.url + paths.evaluations, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ name: 'nightly', agent_name: 'good', pass_rate: 95 }),
  });
});
afterAll(async () => {
  await server?.end('SIGTERM');
  await data.clear();
});

const operate = (...args: string[]) => outputOf(args, data.environment);
const inFile = (name: string, text: string) => {
  writeFileSync(join(data.path, '..', name), text);
  return join(data.path, '..', name);
};
const writeTrustFile = async (name: string) => inFile(name, await operate('trust', 'show', '--workspace', 'shop'));
const gate = async (trust: string, url = server!.url, ...args: string[]) => {
  const environment = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: key };
  const { status, out, err } = await runCli(['gate', '--agent', 'good', '--trust', trust, ...args], { environment });
  return [status, out + err];
};
async function restart(): Promise<void> {
  await server!.end('SIGTERM');
  server = await ServerProcess.start(data.environment);
}
async function rotate(): Promise<void> {
  const [oldKey] = JSON.parse(await operate('signing-key', 'show')).keys.filter(
    (each: { retired_at?: string }) => !each.retired_at,
  );
  await operate('signing-key', 'rotate');
  await restart();
  await operate('signing-key', 'retire', oldKey.kid);
  await restart();
}

/** Makes the stub server forward to the real one, with a changed list of keys. */
function changeKeyList(change: (keys: Record<string, unknown>[]) => unknown[]): void {
  stub.respond = async ({ url, method, headers }, body, response) => {
    const {
      host: _,
      connection: __,
      'content-length': ___,
      'transfer-encoding': ____,
      ...forwarded
    } = headers as Record<string, string>;
    const real = await fetch(server!.url + url, { method: method!, headers: forwarded, ...(method === 'POST' ? { body } : {}) });
    const text = await real.text();
    const attestation = real.headers.get('countersign-attestation');
    const responseHeaders = {
      'content-type': 'application/json',
      ...(attestation === null ? {} : { 'countersign-attestation': attestation }),
    };
    const listed = url === '/.well-known/jwks.json' ? JSON.stringify({ keys: change(JSON.parse(text).keys) }) : text;
    response.writeHead(real.status, responseHeaders).end(listed);
  };
}

test('a gate with an older trust file accepts a new key that its predecessor has signed, and rejects the key that a reset created', {
  timeout: 240_000,
}, async () => {
  const oldTrustFile = await writeTrustFile('old.json');
  expect(await gate(oldTrustFile)).toEqual([0, expect.anything()]);
  await rotate();
  await rotate();
  const attestation = join(data.path, '..', 'attestation.json');
  const [status, text] = await gate(oldTrustFile, undefined, '--attestation', attestation);
  expect([status, text]).toEqual([
    0,
    expect.stringMatching(/verified by a successor of the keys in the trust file; renew the file/),
  ]);
  const offline = (trust: string) => runCli(['verify', 'decision', attestation, '--trust', trust]);
  const unknownSigner = { status: 1, out: expect.stringMatching(/none of the known keys .* rotated, renew the trust file/) };
  expect(await offline(oldTrustFile)).toMatchObject(unknownSigner);
  expect(await offline(await writeTrustFile('renewed.json'))).toMatchObject({ status: 0 });

  // A key is accepted because its predecessor has signed it, and not because the service lists it.
  const { keys } = JSON.parse(await operate('signing-key', 'show'));
  expect(keys).toHaveLength(3);
  const forged = (each: Record<string, unknown>) => ({ ...each, predecessor_signature: keys[1].predecessor_signature });
  const lists: [string, (listed: Record<string, unknown>[]) => unknown[], RegExp][] = [
    ['a wrong signature', ([a, b, c]) => [a, b, forged(c!)], /the signature over the key .* is not by its predecessor/],
    ['no signature', ([a, b, c]) => [a, b, { ...c, predecessor_signature: undefined }], /has no signature by its predecessor/],
    ['a gap', ([a, , c]) => [a, c], /the predecessor .* is not proven/],
    ['no keys', () => [], /the signature was rejected/],
  ];
  for (const [what, change, why] of lists) {
    changeKeyList(change);
    expect([what, ...(await gate(oldTrustFile, stub.url))]).toEqual([what, 3, expect.stringMatching(why)]);
  }
  changeKeyList((listed) => listed.reverse());
  expect(await gate(oldTrustFile, stub.url)).toEqual([0, expect.anything()]);

  // Successors in the trust file are checked in the same way. The stub server lists no keys.
  const file = JSON.parse(await operate('trust', 'show', '--workspace', 'shop'));
  const withSuccessors = { ...file, keys: [{ ...file.keys[0], retired_at: undefined }], successors: file.keys.slice(1) };
  changeKeyList(() => []);
  expect(await gate(inFile('carried.json', JSON.stringify(withSuccessors)), stub.url)).toEqual([0, expect.anything()]);
  const withForgedSuccessor = { ...withSuccessors, successors: [file.keys[1], forged(file.keys[2])] };
  expect(await gate(inFile('wrong.json', JSON.stringify(withForgedSuccessor)))).toEqual([
    2,
    expect.stringMatching(/has a successor that is not proven: the signature over the key/),
  ]);

  // Only a lost key can be reset, and only with --yes. Until the reset, commands that need the key fail.
  const currentTrustFile = await writeTrustFile('present.json');
  const secret = join(data.path, 'secrets', 'signing-key.pem');
  const lostKeyId = keys[2].kid;
  const outcomeOf = async (...args: string[]) => {
    const command = new CommandProcess(args, data.environment);
    return [await command.ended, command.stdout, command.stderr];
  };
  expect(await outcomeOf('signing-key', 'reset', '--yes')).toEqual([
    9,
    '',
    expect.stringMatching(/it is not lost; nothing was changed/),
  ]);
  await server!.end('SIGTERM');
  await until('nothing runs', () => data.isStopped(), LIST_EVERY_MS);
  rmSync(secret);
  expect(await outcomeOf('signing-key', 'show')).toEqual([7, '', expect.stringMatching(/is missing/)]);
  expect(await outcomeOf('signing-key', 'reset')).toEqual([0, '', expect.stringMatching(/nothing was changed/)]);
  expect(await outcomeOf('signing-key', 'show')).toEqual([7, '', expect.stringMatching(/is missing/)]);
  const kid = await operate('signing-key', 'reset', '--yes');
  server = await ServerProcess.start(data.environment);
  const publishedKeys = ((await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as typeof file).keys;
  expect(publishedKeys[2]).toMatchObject({ kid: lostKeyId, retired_at: expect.any(String) });
  expect(publishedKeys[3]).toMatchObject({ kid, reset_from: lostKeyId });
  expect(publishedKeys[3]).not.toHaveProperty('predecessor');
  for (const olderFile of [oldTrustFile, currentTrustFile])
    expect(await gate(olderFile)).toEqual([3, expect.stringMatching(/an operator replaced the lost key .*trust show/s)]);
  expect(await gate(await writeTrustFile('after.json'))).toEqual([0, expect.anything()]);
  expect(server.errorLogLines).toEqual([]);
});
