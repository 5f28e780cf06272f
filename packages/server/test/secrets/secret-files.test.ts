import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMasterSecret, createSigningKey, ensureSecretFile, rotateSigningKeyFile } from '../../src/secrets/secret-files.ts';

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

test('an existing secret is kept', () => {
  const secret = ensureSecretFile(dataDir, 'master-secret', createMasterSecret);
  expect(ensureSecretFile(dataDir, 'master-secret', createMasterSecret)).toBe(secret);
  expect(readFileSync(join(dataDir, 'secrets', 'master-secret'), 'utf8')).toBe(secret);
});
