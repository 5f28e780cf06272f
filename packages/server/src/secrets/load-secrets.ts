import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { ExitError } from '../errors/exit-codes.ts';
import {
  createMasterSecret,
  createSigningKey,
  ensureSecretFile,
  readSecretFile,
  type SecretTexts,
  signingKeyPem,
} from './secret-files.ts';

/** The secrets of an instance. They are never stored in the database. */
export interface Secrets {
  /** 32 bytes: decision keys and the keys of seals are derived from it. */
  masterSecret: Uint8Array;
  /** Ed25519 private key: signs checkpoints and attestations. */
  signingKey: KeyObject;
  /** The previous signing key during a rotation. */
  previousSigningKey?: KeyObject | undefined;
}

/**
 * Reads the configured secrets. With the embedded database, secrets that are not configured are read from its data folder, or created there
 * (mode 0600). With an external database they must be configured, because all servers need the same secrets.
 * @param mayCreate whether missing files may be created: only for a new database, because an existing one needs its own secrets.
 * @throws ExitError if a secret is missing or malformed.
 */
export function loadSecrets(config: Config, mayCreate: boolean): Secrets {
  const isEmbedded = config.databaseUrl === undefined;
  const readOrCreateFile = (name: string, create: () => string) =>
    isEmbedded ? ensureSecretFile(config.dataDir, name, mayCreate ? create : undefined) : undefined;
  const master = config.masterSecret ?? readOrCreateFile('master-secret', createMasterSecret);
  const signing = config.signingKey ?? readOrCreateFile('signing-key.pem', createSigningKey);
  if (master === undefined) throw missingSecret('COUNTERSIGN_MASTER_SECRET', 'openssl rand -base64 32');
  if (signing === undefined) throw missingSecret('COUNTERSIGN_SIGNING_KEY', 'openssl genpkey -algorithm ed25519');
  const previous =
    config.previousSigningKey ?? (isEmbedded ? readSecretFile(config.dataDir, 'signing-key-previous.pem') : undefined);
  const [masterName, signingName, previousName] = [
    nameOf(config.masterSecret, 'COUNTERSIGN_MASTER_SECRET', 'master-secret'),
    nameOf(config.signingKey, 'COUNTERSIGN_SIGNING_KEY', 'signing-key.pem'),
    nameOf(config.previousSigningKey, 'COUNTERSIGN_SIGNING_KEY_PREVIOUS', 'signing-key-previous.pem'),
  ];
  return {
    masterSecret: parseMasterSecret(master, masterName),
    signingKey: parseSigningKey(signing, signingName),
    previousSigningKey: previous === undefined ? undefined : parseSigningKey(previous, previousName),
  };
}

/** The name of a secret in messages: its variable if the variable is set, otherwise its file. */
const nameOf = (configured: string | undefined, variable: string, file: string): string =>
  configured === undefined ? `the file secrets/${file} in the data folder` : variable;

/**
 * Throws ExitError for configured secrets that are malformed, and for missing secrets that must be configured. Call it before anything is
 * opened or created.
 */
export function checkSecrets(config: Config): void {
  if (config.databaseUrl !== undefined) loadSecrets(config, false);
  if (config.masterSecret !== undefined) parseMasterSecret(config.masterSecret, 'COUNTERSIGN_MASTER_SECRET');
  if (config.signingKey !== undefined) parseSigningKey(config.signingKey, 'COUNTERSIGN_SIGNING_KEY');
  if (config.previousSigningKey !== undefined) parseSigningKey(config.previousSigningKey, 'COUNTERSIGN_SIGNING_KEY_PREVIOUS');
}

/** The fingerprints by which the secrets of a database are recognized. They reveal nothing about the secrets. */
export const fingerprints = ({ masterSecret, signingKey }: Secrets): { master: string; signing: string } => ({
  master: Buffer.from(hkdfSync('sha256', masterSecret, '', 'countersign/master-secret-fingerprint/v1', 16)).toString('hex'),
  signing: hash('sha256', createPublicKey(signingKey).export({ type: 'spki', format: 'der' }), 'hex'),
});

/** @param create the command that creates such a secret. */
const missingSecret = (name: string, create: string): ExitError =>
  new ExitError(
    'wrong_secret',
    `${name} (or ${name}_FILE) must be set together with DATABASE_URL; for a new database, create the secret with \`${create}\`; ` +
      'for an existing database, set the secret of this database',
  );

function parseMasterSecret(text: string, name: string): Uint8Array {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== 32 || bytes.toString('base64').replace(/=+$/, '') !== text.trim().replace(/=+$/, '')) {
    throw new ExitError('bad_configuration', `${name} must be 32 bytes in base64 (44 characters)`);
  }
  return new Uint8Array(bytes);
}

function parseSigningKey(pem: string, name: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Reported below. The parser's message could contain parts of the key.
  }
  throw new ExitError('bad_configuration', `${name} must be an Ed25519 private key, PKCS#8 PEM`);
}

/** The secrets as texts, in the form of their files and variables. */
export const secretTexts = ({ masterSecret, signingKey, previousSigningKey }: Secrets): SecretTexts => ({
  masterSecret: `${Buffer.from(masterSecret).toString('base64')}\n`,
  signingKey: signingKeyPem(signingKey),
  ...(previousSigningKey === undefined ? {} : { previousSigningKey: signingKeyPem(previousSigningKey) }),
});
