import { boundedLines, LINE_BYTES_MAX } from './bounded-lines.ts';
import type { ChainReport, FirstBad } from './chain-report.ts';
import { ChainVerifier } from './chain-verifier.ts';
import { decisionDigest } from './decision-signature.ts';
import type { Digests } from './digests.ts';
import { decoded, parseLine } from './export-line.ts';
import { HeldTree, type KeptHead } from './held-tree.ts';
import type { Sha256 } from './merkle-tree.ts';

/** The cryptography that a verification is done with; brought by the caller. */
export interface Hashing {
  digests: Pick<Digests, 'sha256Hex'>;
  sha256: Sha256;
}

/** What an export is held against besides itself. */
export interface ExportDemand {
  log?: 'audit' | 'decisions';
  kept?: readonly KeptHead[];
  /** Hears how many rows are read, now and then. */
  progress?: ((rows: number) => void) | undefined;
}

/** One log's rows as an export has them. */
interface Lines {
  tenantId: string | undefined;
  /** The last whole row's hash. */
  head: string | null;
  /** Takes the next row by its line, where that is enough to see that it is whole. */
  takes(line: string): boolean;
  /** Takes the next row; what is wrong with it, or undefined. */
  next(row: unknown, seq: number): string | undefined;
}

/** Walks an export, a line at a time, and holds it against what was kept. Every byte of it is taken as hostile. */
export async function verifyExport(
  bytes: AsyncIterable<Uint8Array>,
  { digests, sha256 }: Hashing,
  { log = 'audit', kept = [], progress }: ExportDemand = {},
): Promise<ChainReport> {
  const lines = log === 'audit' ? auditLines(digests) : decisionLines(digests);
  const tree = new HeldTree(sha256, kept);
  let entries = 0;
  const report = (more: Pick<ChainReport, 'firstBad' | 'contradiction'>): ChainReport => {
    return { tenantId: lines.tenantId, entries, head: lines.head, ...more };
  };
  for await (const arrived of boundedLines(bytes)) {
    for (const line of arrived) {
      const seq = entries + 1;
      const reason = line === 'too long' ? `the line is longer than ${LINE_BYTES_MAX} bytes` : faultOf(line, lines, seq);
      if (reason !== undefined) return report({ firstBad: (seq === 1 && ofAnotherLog(line, log)) || { seq, reason } });
      // Two more hashes a row, which nobody needs who kept nothing.
      if (kept.length > 0) tree.append(bytesOfHex(lines.head!));
      entries = seq;
      progress?.(seq);
    }
  }
  return report({ firstBad: undefined, contradiction: tree.end(log, lines.tenantId) });
}

/** An export of the other log, by its first line; undefined for everything else. */
function ofAnotherLog(line: Uint8Array | 'too long', log: 'audit' | 'decisions'): FirstBad | undefined {
  const text = line === 'too long' ? undefined : decoded(line);
  const parsed = text === undefined ? undefined : parseLine(text);
  const row = parsed !== undefined && 'row' in parsed && isObject(parsed.row) ? parsed.row : {};
  const isOf = isObject(row.decision) ? 'decisions' : 'row_hash' in row ? 'audit' : undefined;
  if (isOf === undefined || isOf === log) return undefined;
  return { seq: 1, reason: `this is an export of the log ${isOf}, not of ${log}: give --log ${isOf}`, misfit: true };
}

function faultOf(line: Uint8Array, lines: Lines, seq: number): string | undefined {
  const text = decoded(line);
  if (text === undefined) return 'the line is not UTF-8';
  if (lines.takes(text)) return undefined;
  const parsed = parseLine(text);
  return 'fault' in parsed ? parsed.fault : lines.next(parsed.row, seq);
}

function auditLines(digests: Hashing['digests']): Lines {
  const verifier = new ChainVerifier(digests);
  return {
    get tenantId() {
      return verifier.tenantId;
    },
    get head() {
      return verifier.head.rowHash;
    },
    takes: (line) => verifier.takesLine(line),
    next: (row) => verifier.next(row)?.reason,
  };
}

/** `{"seq":n,"decision":{…}}`: the digest is computed, and is the leaf. The signature needs the tenant's key, which no export brings. */
function decisionLines(digests: Hashing['digests']): Lines {
  const lines: Lines = {
    tenantId: undefined,
    head: null,
    takes: () => false,
    next: (row, expected) => {
      const { seq, decision, ...more } = (isObject(row) ? row : {}) as Record<string, unknown>;
      if (!isObject(decision) || seq === undefined || Object.keys(more).length > 0)
        return 'the line is not {"seq":…,"decision":{…}}';
      if (seq !== expected)
        return `seq is ${JSON.stringify(seq)}, expected ${expected}: a decision is missing, repeated or moved`;
      const computed = decisionDigest(decision, digests);
      if (decision.response_sha256 !== computed) {
        const said = JSON.stringify(decision.response_sha256);
        return `response_sha256 is ${said}, but the decision hashes to ${computed}: the decision was altered`;
      }
      lines.head = computed;
      return undefined;
    },
  };
  return lines;
}

function bytesOfHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
