import { ExitError } from '../errors/exit-codes.ts';

/** Some rows of a table in a separate file of limited size: binary COPY data, compressed by Zstandard. */
export interface BackupPart {
  file: string;
  rows: number;
  /** Length of the file, in bytes. */
  bytes: number;
  /** Length of its decompressed content, in bytes. */
  rawBytes: number;
  /** SHA-256 of the file, as hex digits. */
  sha256: string;
}

/** A table of the backup. */
export interface BackupTable {
  name: string;
  columns: string[];
  rows: number;
  parts: BackupPart[];
}

/** The heads of a workspace's logs: the number of rows, and the root of the tree over them in base64. */
export interface BackupWorkspace {
  id: string;
  logs: Record<string, { size: number; root: string }>;
}

/** The content of manifest.json. It is written last, so a folder without it is not a backup. */
export interface BackupManifest {
  format: 'countersign-backup';
  version: 1;
  /** When the backup was made, in ISO 8601. */
  madeAt: string;
  /** Version of the command that made the backup. */
  madeBy: string;
  /** Names of the applied migrations, in order. */
  migrations: string[];
  instance: { id: string; masterFingerprint: string; liveSigningKeys: string[] };
  tables: BackupTable[];
  sequences: { name: string; last: number }[];
  workspaces: BackupWorkspace[];
  /** SHA-256 of the file of encrypted secrets; absent if the backup has none. */
  secretsSha256?: string;
}

/** Name of the manifest file. */
export const MANIFEST_FILE = 'manifest.json';

/** Name of the file of encrypted secrets. */
export const SECRETS_FILE = 'secrets.json';

/** The maximum size of a manifest. The manifest of a backup of 1 TB with 10,000 workspaces is smaller. */
export const MANIFEST_BYTES_MAX = 256 * 1024 * 1024;

/** Name of a part's file. The parts of a table are numbered from 1. */
export const partFile = (table: string, number: number): string => `${table}.${String(number).padStart(6, '0')}.zst`;

const PART_FILE = /^[a-z][a-z0-9_]*\.\d{6,}\.zst$/;
const NAME = /^[a-z][a-z0-9_]*$/;

/** The error of the command for a damaged backup. */
export const damaged = (what: string): ExitError => new ExitError('broken', `the backup is damaged: ${what}`);

/**
 * Parses a manifest, and checks the form of the members that a restore depends on. A restore compares rows and columns with the manifest
 * when it loads them.
 * @throws ExitError `broken` for a malformed manifest, `schema_newer` for a newer version of the format.
 */
export function parseManifest(text: string): BackupManifest {
  let manifest: BackupManifest;
  try {
    manifest = JSON.parse(text);
  } catch {
    throw damaged(`${MANIFEST_FILE} is not JSON`);
  }
  if (manifest?.format !== 'countersign-backup') throw damaged(`${MANIFEST_FILE} does not describe a backup of Countersign`);
  if (Number.isSafeInteger(manifest.version) && manifest.version > 1)
    throw new ExitError('schema_newer', 'the backup was made by a newer Countersign; restore it with that version');
  const malformed = Object.entries(MEMBERS).find(
    ([member, isValid]) => !isValid(manifest[member as keyof BackupManifest] as never),
  );
  if (malformed !== undefined) throw damaged(`${MANIFEST_FILE} has no valid member ${malformed[0]}`);
  return manifest;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown): boolean => typeof value === 'string';
const areAll = (value: unknown, test: (each: never) => boolean): boolean => Array.isArray(value) && value.every(test as never);
const areObjects = (value: unknown, test: (each: never) => boolean): boolean =>
  areAll(value, (each: unknown) => typeof each === 'object' && each !== null && test(each as never));

const isTable = ({ name, columns, rows, parts }: BackupTable): boolean =>
  NAME.test(name) &&
  areAll(columns, (column: string) => NAME.test(column)) &&
  isCount(rows) &&
  areObjects(parts, isPart) &&
  parts.reduce((sum, part) => sum + part.rows, 0) === rows;

const isPart = ({ file, rows, bytes, rawBytes, sha256 }: BackupPart): boolean =>
  PART_FILE.test(file) && [rows, bytes, rawBytes].every(isCount) && isText(sha256);

const isSequence = ({ name, last }: BackupManifest['sequences'][number]): boolean => NAME.test(name) && isCount(last);

const isWorkspace = ({ id, logs }: BackupWorkspace): boolean =>
  isText(id) && Object.values(logs ?? [undefined]).every((head) => isCount(head?.size) && isText(head?.root));

const MEMBERS: Partial<Record<keyof BackupManifest, (value: never) => boolean>> = {
  version: (value) => value === 1,
  madeAt: isText,
  migrations: (value) => areAll(value, isText),
  instance: (value: BackupManifest['instance'] | undefined) =>
    isText(value?.id) && isText(value?.masterFingerprint) && areAll(value?.liveSigningKeys, isText),
  tables: (value) => areObjects(value, isTable),
  sequences: (value) => areObjects(value, isSequence),
  workspaces: (value) => areObjects(value, isWorkspace),
};
