import { closeSync, openSync, readSync } from 'node:fs';
import type { Contradiction } from '@countersign/core/domain/chain-report';
import { checkpointMismatch, openCheckpoint, type TreeLog } from '@countersign/core/domain/checkpoint';
import { decodeUtf8 } from '@countersign/core/domain/export-line';
import { type NoteKey, parseNoteVerifierKey } from '@countersign/core/domain/signed-note';
import { listedSuccessionFault } from '@countersign/core/domain/signing-key-succession';
import { parseUnsignedHeads } from '@countersign/core/domain/tree-head-header';
import type { KeptHead } from '@countersign/core/domain/tree-verifier';
import { isTrustFile, readTrustFile } from '@countersign/core/domain/trust-file';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { sha256, verifyEd25519 } from '../crypto/digests.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { InvalidInputError } from '../workspace/wrong-input.ts';

/** The values of --checkpoint, --head and --key. */
export interface VerificationOptions {
  checkpoint?: string[];
  head?: string[];
  key?: string[];
}

/** The maximum size of a checkpoint or a file of keys, so that a wrong file cannot fill the memory. */
const FILE_BYTES_MAX = 1024 * 1024;

/** Adds a value of an option that can be repeated to the earlier ones. */
export const collectValues = (value: string, before: string[] = []): string[] => [...before, value];

/** The keys of --key. */
export interface GivenKeys {
  keys: NoteKey[];
  /** The ID of the workspace that a trust file names. Undefined without a trust file. */
  tenantId: string | undefined;
}

/** The keys of --key: verifier keys, or files with verifier keys, a JWKS or a trust file. Undefined without --key. */
export function readKeyOption({ key: values = [] }: VerificationOptions): GivenKeys | undefined {
  if (values.length === 0) return undefined;
  const keySets = values.map(keysOf);
  const [tenantId, other] = new Set(keySets.flatMap((each) => each.tenantId ?? []));
  if (other !== undefined) throw new InvalidInputError(`--key names two workspaces, ${tenantId} and ${other}`);
  return { keys: keySets.flatMap(({ keys }) => keys), tenantId };
}

function keysOf(argument: string): GivenKeys {
  const key = parseNoteVerifierKey(argument, sha256);
  if (key !== undefined) return { keys: [key], tenantId: undefined };
  const text = readSmallFile(argument, 'a verifier key (name+id+base64), nor a file that can be read');
  const file = isTrustFile(text) ? readTrustFile(text, SUCCESSION_CHECKS) : undefined;
  if (file !== undefined && 'fault' in file) throw new InvalidInputError(`${JSON.stringify(argument)} ${file.fault}`);
  if (file !== undefined) return { keys: file.keys.map(({ noteKey }) => noteKey), tenantId: file.workspace.id };
  const keys = trustedKeys(text, sha256);
  if (keys === undefined)
    throw new InvalidInputError(
      `${JSON.stringify(argument)} contains neither verifier keys, one per line, nor a JWKS with note_key members, nor a trust file`,
    );
  const fault = text.trim().startsWith('{') ? listedSuccessionFault(JSON.parse(text).keys, SUCCESSION_CHECKS) : undefined;
  if (fault !== undefined) throw new InvalidInputError(`${JSON.stringify(argument)} contradicts itself: ${fault}`);
  return { keys, tenantId: undefined };
}

/**
 * Returns the ID of the workspace that the log must belong to; undefined for any workspace.
 * @throws InvalidInputError if the trust file of --key belongs to another workspace.
 */
export function requireTenantId(tenantId: string | undefined, trustFileTenantId: string | undefined): string | undefined {
  if (tenantId !== undefined && trustFileTenantId !== undefined && tenantId !== trustFileTenantId)
    throw new InvalidInputError(`the trust file of --key belongs to workspace ${trustFileTenantId}, not to ${tenantId}`);
  return tenantId ?? trustFileTenantId;
}

const SUCCESSION_CHECKS = { sha256, verify: verifyEd25519 };

/**
 * The heads of --checkpoint and --head for a log, or the fault of the first checkpoint that is not valid.
 * @throws InvalidInputError if a checkpoint or head is malformed or of another log, or if --checkpoint is given without --key.
 * @throws ExitError if a file cannot be read.
 */
export function keptHeads(
  { checkpoint = [], head = [] }: VerificationOptions,
  keys: readonly NoteKey[] | undefined,
  log: TreeLog,
): { heads: KeptHead[] } | { contradiction: Contradiction } {
  if (checkpoint.length > 0 && keys === undefined)
    throw new InvalidInputError('--checkpoint needs --key: the public key that you kept shows who signed the checkpoint');
  const heads = head.map((text) => parseHeadOption(text, log));
  for (const path of checkpoint) {
    const note = readSmallFile(path, 'a file that can be read');
    const mismatch = checkpointMismatch(note, log);
    if (mismatch !== undefined) throw new InvalidInputError(`${JSON.stringify(path)} ${mismatch}`);
    const openResult = openCheckpoint(note, keys!, verifyEd25519, sha256);
    if ('fault' in openResult) return { contradiction: { source: path, size: 0, reason: openResult.fault } };
    heads.push({ source: path, ...openResult.head });
  }
  return { heads };
}

function parseHeadOption(text: string, log: TreeLog): KeptHead {
  const heads = parseUnsignedHeads(text);
  if (heads === undefined)
    throw new InvalidInputError('--head must be a Countersign-Checkpoint header, such as audit;size=6;root=:IDJ0...FpY=:');
  const head = heads.get(log);
  if (head === undefined)
    throw new InvalidInputError(`--head contains no head of the log ${log}; it contains ${[...heads.keys()].join(', ')}`);
  return { source: `the kept head of size ${head.size}`, ...head };
}

/** The text of a file. It is empty if the file is too large or not UTF-8; an empty text is never a valid checkpoint or key. */
function readSmallFile(path: string, what: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(FILE_BYTES_MAX + 1);
      let length = 0;
      for (let bytesRead = -1; bytesRead !== 0 && length < bytes.length; length += bytesRead)
        bytesRead = readSync(file, bytes, length, bytes.length - length, null);
      return length > FILE_BYTES_MAX ? '' : (decodeUtf8(bytes.subarray(0, length)) ?? '');
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new ExitError('wrong_use', `${JSON.stringify(path)} is not ${what}: ${(error as Error).message}`, { cause: error });
  }
}
