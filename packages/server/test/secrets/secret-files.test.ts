import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createMasterSecret,
  createSigningKey,
  ensureSecretFile,
  readSecretFile,
  replaceLostSigningKeyFile,
  restoreSecretFiles,
  rotateSigningKeyFile,
} from '../../src/secrets/secret-files.ts';

let dataDir: string;
let umask: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  umask = process.umask(0o022);
});
afterEach(() => {
  process.umask(umask);
  rmSync(dataDir, { recursive: true });
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('new secrets are readable only by their owner, even with the umask 022', () => {
  const folder = join(dataDir, 'secrets');
  ensureSecretFile(dataDir, 'master-secret', createMasterSecret);
  ensureSecretFile(dataDir, 'signing-key.pem', createSigningKey);
  rotateSigningKeyFile(dataDir);
  expect(modeOf(folder)).toBe(0o700);
  const files = readdirSync(folder).sort();
  expect(files).toEqual(['master-secret', 'signing-key-previous.pem', 'signing-key.pem']);
  expect(files.map((file) => modeOf(join(folder, file)))).toEqual([0o600, 0o600, 0o600]);
});

// PostgreSQL runs as another user if root starts the server, and must reach its folder in the data folder.
test.each([
  ['a first start', (data: string) => void ensureSecretFile(data, 'master-secret', createMasterSecret)],
  ['a restore', (data: string) => restoreSecretFiles(join(data, 'secrets'), { masterSecret: 'one', signingKey: 'two' })],
])('%s creates a data folder that other users can enter, and a folder of secrets that they cannot enter', (_what, write) => {
  const data = join(dataDir, 'new', 'data');
  write(data);
  expect([modeOf(data), modeOf(join(data, 'secrets'))]).toEqual([0o755, 0o700]);
});

test('an existing secret is kept', () => {
  const secret = ensureSecretFile(dataDir, 'master-secret', createMasterSecret);
  expect(ensureSecretFile(dataDir, 'master-secret', createMasterSecret)).toBe(secret);
  expect(readFileSync(join(dataDir, 'secrets', 'master-secret'), 'utf8')).toBe(secret);
});

test('the error about a missing secret says that only a lost signing key can be replaced', () => {
  const required = (name: string) => () => ensureSecretFile(dataDir, name, undefined);
  expect(required('master-secret')).toThrow(/is missing; restore it from your backup, because this database cannot be used/);
  expect(required('signing-key.pem')).toThrow(/is missing; restore it from your backup; .*`signing-key reset --help`/);
});

// Root can read every file, so this test uses symbolic links that point to themselves instead of files without read permission.
test('a secret that cannot be read is not reported as missing', () => {
  mkdirSync(join(dataDir, 'secrets'));
  for (const name of ['master-secret', 'signing-key-previous.pem']) symlinkSync(name, join(dataDir, 'secrets', name));
  const unreadable = (name: string) =>
    expect.objectContaining({
      reason: 'wrong_secret',
      message: expect.stringMatching(new RegExp(`secrets/${name} cannot be read or created: ELOOP`)),
    });
  expect(() => ensureSecretFile(dataDir, 'master-secret', undefined)).toThrow(unreadable('master-secret'));
  expect(() => replaceLostSigningKeyFile(dataDir)).toThrow(unreadable('master-secret'));
  expect(() => readSecretFile(dataDir, 'signing-key-previous.pem')).toThrow(unreadable('signing-key-previous.pem'));
});
