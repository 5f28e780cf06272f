import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { ExitError } from '../errors/exit-codes.ts';
import { damaged, SECRETS_FILE } from './manifest.ts';

/** The secrets of an instance in a backup, as texts: in the form of the variables and of the files in data/secrets. */
export interface BackupSecrets {
  masterSecret: string;
  signingKey: string;
  previousSigningKey?: string;
}

/** scrypt with 128 MiB, so that guesses of a passphrase are expensive. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface EncryptedSecrets {
  kdf: 'scrypt';
  salt: string;
  nonce: string;
  ciphertext: string;
  tag: string;
}

/** Encrypts the secrets. Returns the content of SECRETS_FILE, which only the same passphrase and instance ID can decrypt. */
export function encryptSecrets(secrets: BackupSecrets, passphrase: string, instanceId: string): Buffer {
  const [salt, nonce] = [randomBytes(16), randomBytes(NONCE_BYTES)];
  const cipher = createCipheriv(CIPHER, deriveKey(passphrase, salt), nonce).setAAD(Buffer.from(instanceId));
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(secrets)), cipher.final()]);
  const encrypted: EncryptedSecrets = {
    kdf: 'scrypt',
    salt: salt.toString('base64'),
    nonce: nonce.toString('base64'),
    ciphertext: ciphertext.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
  };
  return Buffer.from(`${JSON.stringify(encrypted)}\n`);
}

/** Decrypts the secrets. @throws ExitError `wrong_secret` for another passphrase or instance, `broken` for a malformed file. */
export function decryptSecrets(file: Uint8Array, passphrase: string, instanceId: string): BackupSecrets {
  const { kdf, salt, nonce, ciphertext, tag } = parse(file);
  if (kdf !== 'scrypt') throw damaged(`${SECRETS_FILE} is encrypted in an unknown way`);
  const key = deriveKey(passphrase, Buffer.from(salt, 'base64'));
  const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64'), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(instanceId))
    .setAuthTag(Buffer.from(tag, 'base64'));
  const decrypted = decipher.update(Buffer.from(ciphertext, 'base64'));
  try {
    return JSON.parse(Buffer.concat([decrypted, decipher.final()]).toString('utf8'));
  } catch {
    throw new ExitError(
      'wrong_secret',
      'COUNTERSIGN_BACKUP_PASSPHRASE does not decrypt the secrets of this backup; set the passphrase that was set for `backup`',
    );
  }
}

function parse(file: Uint8Array): EncryptedSecrets {
  try {
    const encrypted = JSON.parse(Buffer.from(file).toString('utf8'));
    const isComplete = ['salt', 'nonce', 'ciphertext', 'tag'].every((member) => typeof encrypted[member] === 'string');
    const bytesOf = (member: 'nonce' | 'tag') => Buffer.from(encrypted[member], 'base64').length;
    if (isComplete && bytesOf('nonce') === NONCE_BYTES && bytesOf('tag') === TAG_BYTES) return encrypted;
  } catch {
    // Reported below.
  }
  throw damaged(`${SECRETS_FILE} does not have the form of encrypted secrets`);
}

const deriveKey = (passphrase: string, salt: Uint8Array): Buffer => scryptSync(passphrase.normalize('NFC'), salt, 32, COST);
