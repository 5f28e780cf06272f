import { HASH_BYTES, type Sha256 } from './merkle-tree.ts';
import {
  fromBase64,
  type NoteKey,
  type NoteSigner,
  openNote,
  sameBytes,
  signNote,
  toBase64,
  type VerifyEd25519,
} from './signed-note.ts';

/** The logs of a tenant; each has its own tree. */
export type TreeLog = 'audit' | 'decisions' | 'evidence' | 'keys' | 'traces';

/** The head of a tree, which a checkpoint signs (https://c2sp.org/tlog-checkpoint). */
export interface TreeHead {
  origin: string;
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** The origin of a tenant's log. The origin of the audit ledger names only the tenant; the origins of the other logs also name the log. */
export const originOf = (tenantId: string, log: TreeLog): string => `countersign/${tenantId}${log === 'audit' ? '' : `/${log}`}`;

/** The name of the instance's key in notes. */
export const noteKeyName = (instanceId: string): string => `countersign/${instanceId}`;

/** The text of a checkpoint, which is signed. */
export const checkpointText = ({ origin, size, root }: TreeHead): string => `${origin}\n${size}\n${toBase64(root)}\n`;

/** The checkpoint of a head, signed by each signer. */
export const signCheckpoint = (head: TreeHead, signers: readonly NoteSigner[], sha256: Sha256): string =>
  signNote(checkpointText(head), signers, sha256);

/**
 * Returns the head in a checkpoint and the key of its first signature by one of `keys`. Returns the fault if the checkpoint is malformed,
 * or if its signatures cannot be verified with `keys`.
 */
export function openCheckpoint(
  note: string,
  keys: readonly NoteKey[],
  verify: VerifyEd25519,
  sha256: Sha256,
): { head: TreeHead; key: NoteKey } | { fault: string } {
  const opened = openNote(note, keys, verify, sha256);
  if ('fault' in opened) return { fault: `the checkpoint cannot be trusted: ${opened.fault}` };
  const head = parseCheckpointText(opened.text);
  if (head?.size === 0 && !sameBytes(head.root, sha256(new Uint8Array())))
    return { fault: 'the checkpoint of an empty log does not have the root of an empty tree' };
  return head === undefined
    ? { fault: 'the checkpoint is malformed: it must have origin, size and root, each on its own line' }
    : { head, key: opened.key };
}

/**
 * Returns the reason if a note is not a checkpoint, or if its origin names another log than `log`; otherwise undefined. Signatures are not
 * verified. The workspace and the service are not compared: if they differ, the ledger may have been exchanged, and the verifier must
 * report that.
 */
export function checkpointMismatch(note: string, log: TreeLog): string | undefined {
  const end = note.indexOf('\n\n');
  const head = end === -1 ? undefined : parseCheckpointText(note.slice(0, end + 1));
  if (head === undefined) return 'is not a checkpoint';
  const originMatch = /^countersign\/[^/]+(?:\/([a-z]+))?$/.exec(head.origin);
  const headLog = originMatch?.[1] ?? 'audit';
  return originMatch === null || headLog === log ? undefined : `is a checkpoint of the log ${headLog}, not of ${log}`;
}

/** Parses the text of a checkpoint: three lines, with origin, size and root. Undefined if it is malformed. */
export function parseCheckpointText(text: string): TreeHead | undefined {
  const [origin, size, root, ...rest] = text.split('\n');
  if (origin === undefined || origin === '' || size === undefined || root === undefined || rest.length !== 1 || rest[0] !== '')
    return undefined;
  if (!/^(0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size))) return undefined;
  const bytes = fromBase64(root);
  return bytes?.length === HASH_BYTES ? { origin, size: Number(size), root: bytes } : undefined;
}
