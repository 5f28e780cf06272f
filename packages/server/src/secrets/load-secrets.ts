import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.ts';
import { ExitError } from '../errors/exit-codes.ts';

/** The two secrets of an installation. They never stand in the database. */
export interface Secrets {
  /** 32 bytes: decision keys are derived from it. */
  masterSecret: Uint8Array;
  /** Ed25519 private key: signs checkpoints and attestations. */
  signingKey: KeyObject;
  /** The one before it, while one follows the other. */
  previousSigningKey?: KeyObject | undefined;
}

/** The same as texts: in base64, and as PKCS#8 PEM. */
export interface SecretTexts {
  masterSecret: string;
  signingKey: string;
  previousSigningKey?: string;
}

/** Names of their files in a folder of secrets. */
const SECRET_FILES: Record<keyof SecretTexts, string> = {
  masterSecret: 'master-secret',
  signingKey: 'signing-key.pem',
  previousSigningKey: 'signing-key-previous.pem',
};

/**
 * The configured secrets; on the embedded database those missing are made on the first start, mode 0600, beside the data.
 * With an outside database they must be given: two servers must have the same ones.
 * @param mayMake false for a database that knows its secrets already: new ones would only stand in the way of the right ones.
 */
export function loadSecrets(config: Config, mayMake: boolean): Secrets {
  const embedded = config.databaseUrl === undefined;
  const own = (name: string, make: () => string) =>
    embedded ? kept(config.dataDir, name, mayMake ? make : undefined) : undefined;
  const master = config.masterSecret ?? own('master-secret', newMasterSecret);
  const signing = config.signingKey ?? own('signing-key.pem', newSigningKey);
  if (master === undefined) throw missing('COUNTERSIGN_MASTER_SECRET', '`openssl rand -base64 32` makes one');
  if (signing === undefined) throw missing('COUNTERSIGN_SIGNING_KEY', '`openssl genpkey -algorithm ed25519` makes one');
  const previous = config.previousSigningKey ?? (embedded ? keptBefore(config.dataDir, 'signing-key-previous.pem') : undefined);
  return {
    masterSecret: parseMasterSecret(master),
    signingKey: parseSigningKey(signing, 'COUNTERSIGN_SIGNING_KEY'),
    previousSigningKey: previous === undefined ? undefined : parseSigningKey(previous, 'COUNTERSIGN_SIGNING_KEY_PREVIOUS'),
  };
}

/** Refuses secrets that are malformed, and missing ones that must be given, before anything is opened or made. */
export function checkSecrets(config: Config): void {
  if (config.databaseUrl !== undefined) loadSecrets(config, false);
  if (config.masterSecret !== undefined) parseMasterSecret(config.masterSecret);
  if (config.signingKey !== undefined) parseSigningKey(config.signingKey, 'COUNTERSIGN_SIGNING_KEY');
  if (config.previousSigningKey !== undefined) parseSigningKey(config.previousSigningKey, 'COUNTERSIGN_SIGNING_KEY_PREVIOUS');
}

/** What the database keeps to know its secrets again. Tells nothing about them. */
export const fingerprints = ({ masterSecret, signingKey }: Secrets): { master: string; signing: string } => ({
  master: Buffer.from(hkdfSync('sha256', masterSecret, '', 'countersign/master-secret-fingerprint/v1', 16)).toString('hex'),
  signing: hash('sha256', createPublicKey(signingKey).export({ type: 'spki', format: 'der' }), 'hex'),
});

const missing = (name: string, remedy: string): ExitError =>
  new ExitError('wrong_secret', `${name} (or ${name}_FILE) must be set beside DATABASE_URL; ${remedy}`);

function parseMasterSecret(text: string): Uint8Array {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== 32 || bytes.toString('base64').replace(/=+$/, '') !== text.trim().replace(/=+$/, '')) {
    throw new ExitError('bad_configuration', 'COUNTERSIGN_MASTER_SECRET must be 32 bytes in base64 (44 characters)');
  }
  return new Uint8Array(bytes);
}

function parseSigningKey(pem: string, name: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below: the parser's own message could repeat parts of the key.
  }
  throw new ExitError('bad_configuration', `${name} must be an Ed25519 private key, PKCS#8 PEM`);
}

const newMasterSecret = (): string => randomBytes(32).toString('base64') + '\n';
const newSigningKey = (): string => pemOf(generateKeyPairSync('ed25519').privateKey);
const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Reads a secret's file; one that is not there is made where that may be. */
function kept(dataDir: string, name: string, make: (() => string) | undefined): string {
  const folder = join(dataDir, 'secrets');
  const path = join(folder, name);
  try {
    if (!existsSync(path)) {
      if (make === undefined)
        throw new ExitError('wrong_secret', `${path} is missing; restore it from your backup: this database was made with it`);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeOnce(path, make());
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof ExitError) throw error;
    throw new ExitError('wrong_secret', `the secret ${path} cannot be read or made: ${(error as Error).message}`);
  }
}

/** Reads a secret's file where there is one. */
function keptBefore(dataDir: string, name: string): string | undefined {
  const path = join(dataDir, 'secrets', name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/**
 * Makes a new signing key on the embedded default; the one before it stays beside it and signs too, until it is retired.
 * Refuses while an earlier one is still there: two are live at most.
 */
export function rotateSigningKeyFile(dataDir: string): void {
  const folder = join(dataDir, 'secrets');
  const [current, previous] = [join(folder, 'signing-key.pem'), join(folder, 'signing-key-previous.pem')];
  const key = readFileSync(current, 'utf8');
  // The same key twice is a rotation that was cut off between the two files: it goes on.
  if (existsSync(previous) && readFileSync(previous, 'utf8') !== key)
    throw new ExitError('refused', 'the key before the present one is still live; `signing-key retire` ends it');
  writeOnce(previous, key); // on the disk before it has a successor: without it the database would take neither
  const aside = `${current}.${randomBytes(6).toString('hex')}`;
  writeSynced(aside, newSigningKey());
  renameSync(aside, current);
  syncFolder(folder);
}

/** Makes a signing key where its file is missing, for `signing-key reset`. Refuses in a folder that holds no secrets of an installation. */
export function replaceLostSigningKeyFile(dataDir: string): void {
  const folder = join(dataDir, 'secrets');
  if (!existsSync(join(folder, 'master-secret')))
    throw new ExitError(
      'wrong_secret',
      `${join(folder, 'master-secret')} is missing: this is not the data folder, or restore it first`,
    );
  const path = join(folder, 'signing-key.pem');
  if (!existsSync(path)) writeOnce(path, newSigningKey());
}

/** The secrets as texts, in the form of their files and variables. */
export const secretTexts = ({ masterSecret, signingKey, previousSigningKey }: Secrets): SecretTexts => ({
  masterSecret: `${Buffer.from(masterSecret).toString('base64')}\n`,
  signingKey: pemOf(signingKey),
  ...(previousSigningKey === undefined ? {} : { previousSigningKey: pemOf(previousSigningKey) }),
});

/** Writes the secrets of a backup into a folder. Refuses where a file holds another secret. */
export function restoreSecretFiles(folder: string, secrets: SecretTexts): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files = Object.entries(SECRET_FILES).flatMap(([name, file]) => {
    const text = secrets[name as keyof SecretTexts];
    return text === undefined ? [] : [{ path: join(folder, file), text }];
  });
  const other = files.find(({ path, text }) => existsSync(path) && readFileSync(path, 'utf8').trim() !== text.trim());
  if (other !== undefined)
    throw new ExitError(
      'refused',
      `${other.path} holds another secret than the backup; move it away first (nothing was changed)`,
    );
  for (const { path, text } of files) writeOnce(path, text);
}

/** Forgets the previous key's private half: from the next start on it signs nothing. */
export const forgetPreviousSigningKeyFile = (dataDir: string): void =>
  rmSync(join(dataDir, 'secrets', 'signing-key-previous.pem'), { force: true });

/** Written aside, synced and renamed: after a crash the file is there whole, or not at all. */
function writeOnce(path: string, content: string): void {
  // Under a name that nothing left behind by a start that was cut off can have: in a container even the pid is always the same.
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  writeSynced(aside, content);
  try {
    linkSync(aside, path); // a rename would replace the one that another process has just made, and already uses
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  rmSync(aside);
  // The database will remember this secret's fingerprint: the file's name must be on disk before that.
  for (const folder of [dirname(path), dirname(dirname(path))]) syncFolder(folder);
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function writeSynced(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
