import { HASH_BYTES } from './merkle-tree.ts';
import { fromBase64, toBase64 } from './signed-note.ts';

/** An inclusion proof that can be verified offline (https://c2sp.org/tlog-proof): index of the leaf, hashes, checkpoint. */
export interface LogProof {
  /** The index of the leaf, from 0. The row with seq n is leaf n - 1. */
  index: number;
  /** The inclusion path, from the leaf up. */
  hashes: readonly Uint8Array[];
  /** The signed note, unchanged. */
  checkpoint: string;
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1';
/** The largest tree, with 2^53 leaves, needs fewer hashes. */
const HASHES_MAX = 64;

/** Returns the text of a proof. */
export const formatLogProof = ({ index, hashes, checkpoint }: LogProof): string =>
  [FIRST_LINE, `index ${index}`, ...hashes.map(toBase64), '', checkpoint].join('\n');

/** Parses a proof. Undefined if it is malformed; the checkpoint is not checked. A line `extra` is ignored, because nothing proves it. */
export function parseLogProof(text: string): LogProof | undefined {
  const split = text.indexOf('\n\n');
  if (split < 0) return undefined;
  const lines = text.slice(0, split).split('\n');
  if (lines.shift() !== FIRST_LINE) return undefined;
  if (lines[0]?.startsWith('extra ') && fromBase64(lines.shift()!.slice('extra '.length)) === undefined) return undefined;
  const [, index] = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '') ?? [];
  const hashes = lines.map(fromBase64);
  if (index === undefined || !Number.isSafeInteger(Number(index)) || hashes.length > HASHES_MAX) return undefined;
  if (!hashes.every((hash): hash is Uint8Array => hash?.length === HASH_BYTES)) return undefined;
  return { index: Number(index), hashes, checkpoint: text.slice(split + 2) };
}
