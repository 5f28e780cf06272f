import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import { openCheckpoint, originOf } from '@countersign/core/domain/checkpoint';
import { inexactnessOf } from '@countersign/core/domain/exact-json';
import { Frontier } from '@countersign/core/domain/merkle-tree';
import { sameBytes } from '@countersign/core/domain/signed-note';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { hexToBytes } from '@noble/hashes/utils.js';
import { digests, sha256, verifyEd25519 } from './browser-digests.ts';
import type { VerificationResult } from './verification-messages.ts';

/** What a walk is held against besides the chain itself. */
interface Expected {
  tenantId: string;
  /** Entries that the ledger's head says there are. */
  entries: number;
  /** The signed note over the ledger's tree. */
  checkpoint: string;
  /** The published keys, a JWKS. */
  keys: string;
}

/**
 * Walks a ledger's NDJSON, a line at a time, with the same verifier as the command line: each row's hash and place, then the number
 * of rows against the head, and the root of the tree against the signed checkpoint. `progress` hears how many rows were checked.
 */
export async function verifyChain(
  lines: AsyncIterable<string>,
  expected: Expected,
  progress: (checked: number) => void,
): Promise<VerificationResult> {
  const startedAt = performance.now();
  const note = openCheckpoint(expected.checkpoint, trustedKeys(expected.keys, sha256) ?? [], verifyEd25519, sha256);
  const verifier = new ChainVerifier(digests, expected.tenantId);
  const tree = new Frontier(sha256);
  const broken = (seq: number, reason: string): VerificationResult => ({
    kind: 'broken',
    checked: verifier.head.seq,
    seq,
    reason,
  });
  let held = 'fault' in note;
  for await (const line of lines) {
    const seq = verifier.head.seq + 1;
    const parsed = parsedLine(line);
    const fault = 'reason' in parsed ? { seq, reason: parsed.reason } : verifier.next(parsed.row);
    if (fault !== undefined) return broken(fault.seq, fault.reason);
    tree.append(hexToBytes(verifier.head.rowHash ?? ''));
    if (!('fault' in note) && note.head.size === tree.size) {
      held = sameBytes(tree.root(), note.head.root);
      if (!held)
        return broken(seq, 'the rows up to here have another tree than the signed checkpoint says: some were rewritten together');
    }
    progress(seq);
  }
  const { seq, rowHash } = verifier.head;
  if (seq < expected.entries) return broken(seq + 1, `the ledger should have ${expected.entries} entries, but ends after ${seq}`);
  if ('fault' in note) return broken(seq, note.fault);
  if (note.head.origin !== originOf(expected.tenantId, 'audit')) return broken(seq, 'the checkpoint is of another log');
  if (seq < note.head.size)
    return broken(seq + 1, `the signed checkpoint is over ${note.head.size} entries, but the ledger ends after ${seq}`);
  if (!held && note.head.size > 0) return broken(seq, 'the signed checkpoint was never reached');
  return { kind: 'whole', checked: seq, head: rowHash, checkpoint: note.key.name, elapsedMs: performance.now() - startedAt };
}

/** A line's row; or why it is none: not JSON, or JSON that two readers could read in two ways. */
function parsedLine(line: string): { row: unknown } | { reason: string } {
  try {
    const row: unknown = JSON.parse(line);
    const [inexact] = inexactnessOf(line);
    return inexact === undefined ? { row } : { reason: inexact.message };
  } catch (error) {
    return { reason: `the line is not JSON: ${(error as Error).message}` };
  }
}
