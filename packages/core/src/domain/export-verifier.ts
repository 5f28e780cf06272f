import type { AcceptedRestore } from './accepted-restore.ts';
import { boundedLines, LINE_BYTES_MAX } from './bounded-lines.ts';
import type { ChainReport, Contradiction, FirstBad } from './chain-report.ts';
import type { TreeLog } from './checkpoint.ts';
import type { ClockCorrection } from './clock-correction.ts';
import type { DecisionReplay } from './decision-replay.ts';
import type { Digests } from './digests.ts';
import { decodeUtf8, parseLine } from './export-line.ts';
import type { Sha256 } from './merkle-tree.ts';
import { logOf, type RowVerifier, rowVerifierOf } from './row-verifier.ts';
import { type KeptHead, TreeVerifier } from './tree-verifier.ts';

/** The hash functions for verification. */
export interface Hashing {
  digests: Pick<Digests, 'sha256Hex'>;
  sha256: Sha256;
}

/** The log that is expected, and the data that an export is compared with. */
export interface ExportExpectation {
  /** By default the audit ledger. */
  log?: TreeLog;
  /** Heads that the rows must match. */
  keptHeads?: readonly KeptHead[];
  /** The corrections of the clock in the audit ledger (ChainReport.corrections); undefined if the ledger was not supplied. */
  corrections?: readonly ClockCorrection[] | undefined;
  /** The accepted restores in the audit ledger (ChainReport.restores). Not used for an export of the audit ledger, which contains them. */
  restores?: readonly AcceptedRestore[] | undefined;
  /** The tenant of the supplied audit ledger, which the rows must name too. Undefined if no ledger was supplied, or it names no tenant. */
  auditTenantId?: string | undefined;
  /** The expected tenant; by default the tenant of the first row that names one. */
  tenantId?: string | undefined;
  /** Recomputes each decision. Only for an export of decisions. */
  replay?: DecisionReplay | undefined;
  /** Called after each valid row with the number of rows so far. */
  progress?: ((rows: number) => void) | undefined;
}

/** Verifies an export line by line, up to the first fault, and compares it with kept heads. The export is untrusted. */
export async function verifyExport(
  bytes: AsyncIterable<Uint8Array>,
  { digests, sha256 }: Hashing,
  {
    log = 'audit',
    keptHeads = [],
    corrections,
    restores = [],
    auditTenantId,
    tenantId,
    replay,
    progress,
  }: ExportExpectation = {},
): Promise<ChainReport> {
  const verifier = rowVerifierOf(log, digests, corrections, tenantId);
  const tree = new TreeVerifier(sha256, keptHeads);
  let entries = 0;
  const report = (outcome: Pick<ChainReport, 'firstBad' | 'contradiction'>): ChainReport => {
    const corrected = verifier.corrections.length === 0 ? {} : { corrections: verifier.corrections };
    const restored = verifier.restores === undefined || verifier.restores.length === 0 ? {} : { restores: verifier.restores };
    return { tenantId: verifier.tenantId, entries, head: verifier.head, ...outcome, ...corrected, ...restored };
  };
  for await (const lines of boundedLines(bytes)) {
    for (const line of lines) {
      const seq = entries + 1;
      let reason = line === 'too long' ? `the line is longer than ${LINE_BYTES_MAX} bytes` : faultOf(line, verifier, seq);
      if (reason === undefined && replay !== undefined && line !== 'too long') reason = await replay.fault(decisionIn(line));
      if (reason !== undefined) return report({ firstBad: (seq === 1 && otherLogFault(line, log)) || { seq, reason } });
      // The tree costs two more hashes per row. It is only needed to compare kept heads.
      if (keptHeads.length > 0) tree.append(bytesOfHex(verifier.head!));
      entries = seq;
      progress?.(seq);
    }
  }
  const contradiction =
    tenantContradiction(verifier.tenantId, auditTenantId) ?? tree.end(log, verifier.tenantId, verifier.restores ?? restores);
  return report({ firstBad: undefined, contradiction });
}

/** The contradiction if the rows and the supplied audit ledger name different tenants; undefined otherwise. */
function tenantContradiction(tenantId: string | undefined, auditTenantId: string | undefined): Contradiction | undefined {
  if (tenantId === undefined || auditTenantId === undefined || tenantId === auditTenantId) return undefined;
  const reason = `the ledger belongs to tenant ${auditTenantId}, but this log belongs to tenant ${tenantId}`;
  return { source: 'the audit ledger', size: 0, reason };
}

/** The fault if the first line is from an export of another log; undefined otherwise. */
function otherLogFault(line: Uint8Array | 'too long', log: TreeLog): FirstBad | undefined {
  const text = line === 'too long' ? undefined : decodeUtf8(line);
  const parsed = text === undefined ? undefined : parseLine(text);
  const actualLog = parsed !== undefined && 'value' in parsed ? logOf(parsed.value) : undefined;
  if (actualLog === undefined || actualLog === log) return undefined;
  return { seq: 1, reason: `this is an export of the log ${actualLog}, not of ${log}: give --log ${actualLog}`, misfit: true };
}

function faultOf(line: Uint8Array, verifier: RowVerifier, seq: number): string | undefined {
  const text = decodeUtf8(line);
  if (text === undefined) return 'the line is not UTF-8';
  if (verifier.tryLine(text)) return undefined;
  const parsed = parseLine(text);
  return 'fault' in parsed ? parsed.fault : verifier.next(parsed.value, seq);
}

/** Returns the decision in a valid line of an export of decisions. */
const decisionIn = (line: Uint8Array): Record<string, unknown> => JSON.parse(decodeUtf8(line)!).decision;

function bytesOfHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}
