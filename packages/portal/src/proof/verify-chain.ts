import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import { openCheckpoint, originOf } from '@countersign/core/domain/checkpoint';
import { parseLine } from '@countersign/core/domain/export-line';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { sameBytes } from '@countersign/core/domain/signed-note';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { hexToBytes } from '@noble/hashes/utils.js';
import { formatCountOf } from '../components/number-format.ts';
import { digests, sha256, verifyEd25519 } from './browser-cryptography.ts';
import type { VerificationResult } from './verification-messages.ts';

/** The values that a ledger is checked against. */
interface ExpectedLedger {
  /** The workspace ID, which every row hash covers. */
  tenantId: string;
  /** The minimum number of entries: the number of entries according to the ledger's head. */
  entryCount: number;
  /** The signed note over the ledger's tree. */
  checkpoint: string;
  /** The published keys: the text of a JWKS. */
  keys: string;
}

/**
 * Verifies the NDJSON of a ledger line by line, with the same verifier as the command line. It checks the hash and the position of each
 * row. It compares the number of rows with the head, and the root of the tree with the signed checkpoint. It stops at the first row that
 * is not valid, or at which the tree differs from the checkpoint. After each row that passes, it calls `onProgress` with the number of
 * valid rows.
 */
export async function verifyChain(
  lines: AsyncIterable<string>,
  expected: ExpectedLedger,
  onProgress: (checkedCount: number) => void,
): Promise<VerificationResult> {
  const startedAt = performance.now();
  const note = openCheckpoint(expected.checkpoint, trustedKeys(expected.keys, sha256) ?? [], verifyEd25519, sha256);
  const verifier = new ChainVerifier(digests, expected.tenantId);
  const tree = new Frontier(sha256);
  const invalid = (seq: number | null, reason: string): VerificationResult => ({
    kind: 'invalid',
    checkedCount: verifier.head.seq,
    seq,
    reason,
  });
  for await (const line of lines) {
    const seq = verifier.head.seq + 1;
    const parsed = parseLine(line);
    const fault = 'fault' in parsed ? { seq, reason: parsed.fault } : verifier.next(parsed.value);
    if (fault !== undefined) return invalid(fault.seq, fault.reason);
    tree.append(hexToBytes(verifier.head.rowHash ?? ''));
    if (!('fault' in note) && note.head.size === tree.size && !sameBytes(tree.root(), note.head.root))
      return invalid(null, `the tree of the first ${seq} rows differs from the signed checkpoint, so rows were rewritten`);
    onProgress(seq);
  }
  const { seq, rowHash } = verifier.head;
  if (seq < expected.entryCount)
    return invalid(null, `the ledger should have ${formatEntryCount(expected.entryCount)} but ends after entry ${seq}`);
  if ('fault' in note) return invalid(null, note.fault);
  if (note.head.origin !== originOf(expected.tenantId, 'audit'))
    return invalid(null, 'the checkpoint belongs to a different log');
  if (seq < note.head.size)
    return invalid(
      null,
      `the signed checkpoint covers ${formatEntryCount(note.head.size)} but the ledger ends after entry ${seq}`,
    );
  return { kind: 'valid', checkedCount: seq, head: rowHash, signer: note.key.name, elapsedMs: performance.now() - startedAt };
}

const formatEntryCount = (count: number): string => formatCountOf(count, 'entry', 'entries');
