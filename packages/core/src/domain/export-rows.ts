import { ChainVerifier } from './chain-verifier.ts';
import type { TreeLog } from './checkpoint.ts';
import { type ClockCorrection, Moments } from './clock-correction.ts';
import { decisionDigest } from './decision-signature.ts';
import type { Digests } from './digests.ts';
import { EVIDENCE_ACTIONS, type EvidenceEvent, readEvidenceEvent } from './evidence-event.ts';
import { readKeyEvent } from './key-event.ts';

/** One log's rows as an export has them (docs/formats.md, "Export", "Decisions export", "Key event"). */
export interface ExportRows {
  tenantId: string | undefined;
  /** The last whole row's hash. */
  head: string | null;
  /** What the rows allow of the times of all logs; those of the audit ledger alone do. */
  readonly corrections: readonly ClockCorrection[];
  /** Takes the next row by its line, where that is enough to see that it is whole. */
  takes(line: string): boolean;
  /** Takes the next row; what is wrong with it, or undefined. */
  next(row: unknown, seq: number): string | undefined;
}

type Hex = Pick<Digests, 'sha256Hex'>;

/**
 * The rows of an export of a log, to be taken one by one.
 * @param corrections what the audit ledger allows of the times of the other two logs; undefined where it was not supplied.
 */
export function rowsOf(log: TreeLog, digests: Hex, corrections?: readonly ClockCorrection[]): ExportRows {
  switch (log) {
    case 'audit':
      return auditRows(digests);
    case 'decisions':
      return decisionRows(digests, new Moments(log, corrections));
    case 'evidence':
      return eventRows(digests, new Moments(log, corrections), readEvidenceEvent);
    case 'keys':
      return eventRows(digests, new Moments(log, corrections), readKeyEvent);
  }
}

/** Which log's export a row is of; undefined for what is of none. */
export function logOf(row: unknown): TreeLog | undefined {
  if (!isObject(row)) return undefined;
  if (isObject(row.decision)) return 'decisions';
  if ('row_hash' in row) return 'audit';
  if ('key_id' in row && 'scopes' in row) return 'keys';
  return EVIDENCE_ACTIONS.includes(row.action as EvidenceEvent['action']) ? 'evidence' : undefined;
}

function auditRows(digests: Hex): ExportRows {
  const verifier = new ChainVerifier(digests);
  return {
    get tenantId() {
      return verifier.tenantId;
    },
    get head() {
      return verifier.head.rowHash;
    },
    corrections: verifier.corrections,
    takes: (line) => verifier.takesLine(line),
    next: (row) => verifier.next(row)?.reason,
  };
}

/** `{"seq":n,"decision":{…}}`: the digest is computed, and is the leaf. The signature needs the tenant's key, which no export brings. */
function decisionRows(digests: Hex, moments: Moments): ExportRows {
  const rows: ExportRows = {
    tenantId: undefined,
    head: null,
    corrections: [],
    takes: () => false,
    next: (row, expected) => {
      const { seq, decision, ...more } = isObject(row) ? row : {};
      if (!isObject(decision) || seq === undefined || Object.keys(more).length > 0)
        return 'the line is not {"seq":…,"decision":{…}}';
      if (seq !== expected)
        return `seq is ${JSON.stringify(seq)}, expected ${expected}: a decision is missing, repeated or moved`;
      const computed = decisionDigest(decision, digests);
      if (decision.response_sha256 !== computed) {
        const said = JSON.stringify(decision.response_sha256);
        return `response_sha256 is ${said}, but the decision hashes to ${computed}: the decision was altered`;
      }
      const fault = moments.next(expected, decision.timestamp, 'timestamp');
      if (fault === undefined) rows.head = computed;
      return fault;
    },
  };
  return rows;
}

/** Reads what should be a log's next event (readKeyEvent, readEvidenceEvent). */
type ReadEvent = (
  value: unknown,
  place: { seq: number; tenantId: string | undefined },
  digests: Hex,
) => { event: { tenant_id: string; recorded_at: string }; hash: string } | { fault: string };

/** An event a line. It brings no hash: what was altered in it shows against a kept head, and in no other way. */
function eventRows(digests: Hex, moments: Moments, readEvent: ReadEvent): ExportRows {
  const rows: ExportRows = {
    tenantId: undefined,
    head: null,
    corrections: [],
    takes: () => false,
    next: (row, seq) => {
      const read = readEvent(row, { seq, tenantId: rows.tenantId }, digests);
      if ('fault' in read) return read.fault;
      const fault = moments.next(seq, read.event.recorded_at, 'recorded_at');
      if (fault !== undefined) return fault;
      rows.tenantId = read.event.tenant_id;
      rows.head = read.hash;
      return undefined;
    },
  };
  return rows;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
