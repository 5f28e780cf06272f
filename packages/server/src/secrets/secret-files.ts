import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ExitError } from '../errors/exit-codes.ts';
import { syncNow, writeSyncedNow } from '../files/synced-files.ts';

/** The mode of the file of a secret: only the owner of the file can read and write it. */
const SECRET_MODE = 0o600;

/** The secrets as texts: base64 and PKCS#8 PEM, as in their files and variables. */
export interface SecretTexts {
  masterSecret: string;
  signingKey: string;
  previousSigningKey?: string;
}

/** The names of the files in a folder of secrets. */
const SECRET_FILES: Record<keyof SecretTexts, string> = {
  masterSecret: 'master-secret',
  signingKey: 'signing-key.pem',
  previousSigningKey: 'signing-key-previous.pem',
};

/** Creates a master secret: 32 random bytes in base64. */
export const createMasterSecret = (): string => randomBytes(32).toString('base64') + '\n';

/** Creates an Ed25519 private key, PKCS#8 PEM. */
export const createSigningKey = (): string => signingKeyPem(generateKeyPairSync('ed25519').privateKey);

/** A private key as PKCS#8 PEM. */
export const signingKeyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/**
 * Reads the file of a secret, or creates it.
 * @param create creates the secret; undefined if it must exist.
 * @throws ExitError if the file is missing and must exist, or cannot be read or written.
 */
export function ensureSecretFile(dataDir: string, name: string, create: (() => string) | undefined): string {
  const folder = join(dataDir, 'secrets');
  const path = join(folder, name);
  return explainErrors(path, () => {
    if (!exists(path)) {
      if (create === undefined) {
        const reason = name === SECRET_FILES.signingKey ? SEE_RESET : NEEDED;
        throw new ExitError('wrong_secret', `${path} is missing; restore it from your backup${reason}`);
      }
      createFolder(folder);
      writeOnce(path, create());
    }
    return readFileSync(path, 'utf8');
  });
}

/** A lost signing key can be replaced. A lost master secret cannot. */
const SEE_RESET = '; if the key is lost, see `signing-key reset --help`';
const NEEDED = ', because this database cannot be used without it';

/** Whether the file exists. Throws if this user has no access to its folder. In that case existsSync would return false. */
const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** Runs `work` on the file of a secret. An error of the system becomes an ExitError that names the file and says what to do. */
function explainErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExitError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const remedy =
      code === 'EACCES' ? `; give the user of this process (uid ${process.geteuid?.()}) the right to read and write it` : '';
    throw new ExitError('wrong_secret', `the secret ${path} cannot be read or created: ${message}${remedy}`);
  }
}

/**
 * Reads the file of a secret. Returns undefined if there is none.
 * @throws ExitError if the file cannot be read.
 */
export function readSecretFile(dataDir: string, name: string): string | undefined {
  const path = join(dataDir, 'secrets', name);
  return explainErrors(path, () => (exists(path) ? readFileSync(path, 'utf8') : undefined));
}

/**
 * Creates a new signing key in the data folder of the embedded database. The current key becomes the previous key, which also signs until
 * it is retired.
 * @throws ExitError if there is a previous key that is not retired: at most two keys sign at a time.
 */
export function rotateSigningKeyFile(dataDir: string): void {
  const folder = join(dataDir, 'secrets');
  const [current, previous] = [join(folder, 'signing-key.pem'), join(folder, 'signing-key-previous.pem')];
  const key = readFileSync(current, 'utf8');
  // The same key in both files means that a rotation was interrupted between the two writes. This call continues it.
  if (existsSync(previous) && readFileSync(previous, 'utf8') !== key)
    throw new ExitError('refused', 'the previous signing key is not retired yet; run `signing-key retire` first');
  writeOnce(previous, key); // synced before its successor exists: the database accepts the new key only together with the previous one
  const temporary = `${current}.${randomBytes(6).toString('hex')}`;
  writeSyncedNow(temporary, createSigningKey(), SECRET_MODE);
  renameSync(temporary, current);
  syncNow(folder);
}

/**
 * Creates a signing key if its file is missing, for `signing-key reset`.
 * @throws ExitError if the folder has no master secret, because then it is probably the wrong data folder. Also if a file cannot be read or
 *   written.
 */
export function replaceLostSigningKeyFile(dataDir: string): void {
  const [master, path] = [join(dataDir, 'secrets', 'master-secret'), join(dataDir, 'secrets', 'signing-key.pem')];
  if (!explainErrors(master, () => exists(master)))
    throw new ExitError('wrong_secret', `${master} is missing: check COUNTERSIGN_DATA_DIR, or restore the file first`);
  explainErrors(path, () => {
    if (!exists(path)) writeOnce(path, createSigningKey());
  });
}

/**
 * Creates a folder of secrets. Its parent folders get the default mode: with 0700, PostgreSQL could not reach its folder in the data folder
 * if it runs as another user.
 */
function createFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** @throws ExitError if a file in the folder contains another secret than the backup, or cannot be read. */
export function requireNoOtherSecrets(folder: string, secrets: SecretTexts): void {
  for (const { path, text } of filesOf(folder, secrets)) {
    if (explainErrors(path, () => exists(path) && readFileSync(path, 'utf8').trim() !== text.trim()))
      throw new ExitError(
        'refused',
        `${path} contains a secret that differs from the one in the backup; move the file away first (nothing was changed)`,
      );
  }
}

/**
 * Writes the secrets of a backup into a folder. Existing files are kept, so call requireNoOtherSecrets first.
 * @throws ExitError if a file cannot be written.
 */
export function restoreSecretFiles(folder: string, secrets: SecretTexts): void {
  for (const { path, text } of filesOf(folder, secrets))
    explainErrors(path, () => {
      createFolder(folder);
      writeOnce(path, text);
    });
}

const filesOf = (folder: string, secrets: SecretTexts): { path: string; text: string }[] =>
  Object.entries(SECRET_FILES).flatMap(([name, file]) => {
    const text = secrets[name as keyof SecretTexts];
    return text === undefined ? [] : [{ path: join(folder, file), text }];
  });

/** Deletes the file of the previous private key. Servers that start later do not sign with this key. */
export const deletePreviousSigningKeyFile = (dataDir: string): void =>
  rmSync(join(dataDir, 'secrets', 'signing-key-previous.pem'), { force: true });

/** Writes a temporary file, syncs it and links it: after a crash the file is complete or absent. Keeps an existing file. */
function writeOnce(path: string, content: string): void {
  // The name is random, because an interrupted start may have left a file. In containers even the process ID is the same at each start.
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  writeSyncedNow(temporary, content, SECRET_MODE);
  try {
    linkSync(temporary, path); // a rename would replace the file of another process that started at the same time
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  rmSync(temporary);
  // The database may store the fingerprint of this secret next. The name of the file must be on disk before that.
  for (const folder of [dirname(path), dirname(dirname(path))]) syncNow(folder);
}
