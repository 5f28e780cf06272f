import type { AcceptedRestore } from './accepted-restore.ts';
import { ChainVerifier } from './chain-verifier.ts';
import type { TreeLog } from './checkpoint.ts';
import { type ClockCorrection, RowTimes } from './clock-correction.ts';
import { type DecisionMembers, decisionFormFault } from './decision-form.ts';
import { decisionDigest } from './decision-signature.ts';
import type { Digests } from './digests.ts';
import { applyEvent } from './event-conflict.ts';
import { EVIDENCE_ACTIONS, type EvidenceEvent, readEvidenceEvent } from './evidence-event.ts';
import { EvidenceState } from './evidence-state.ts';
import { readKeyEvent } from './key-event.ts';
import { KeyState } from './key-state.ts';
import { readTraceEvent } from './trace-event.ts';

/** Verifies the rows of an export of one log in order (docs/formats.md, "Export" and the sections of the logs). */
export interface RowVerifier {
  /** The tenant of the rows; undefined until it is known. */
  tenantId: string | undefined;
  /** The leaf data of the last valid row, in hex; null before the first row. */
  head: string | null;
  /** The corrections of the clock in the valid rows so far. Only the audit ledger contains corrections. */
  readonly corrections: readonly ClockCorrection[];
  /** The accepted restores in the valid rows so far. Only the audit ledger contains restores. */
  readonly restores?: readonly AcceptedRestore[];
  /** Verifies the next row by its text. Returns false if it does not accept the row. Then next() must verify the parsed row. */
  tryLine(line: string): boolean;
  /** Verifies the next row. Returns its fault, or undefined if it is valid. @param seq its expected number. */
  next(row: unknown, seq: number): string | undefined;
}

type TextDigests = Pick<Digests, 'sha256Hex'>;

/**
 * Returns the verifier for the rows of an export of a log.
 * @param corrections the corrections of the clock in the audit ledger; undefined if the ledger was not supplied. Not used if `log` is
 *   `audit`, because its rows contain them.
 * @param tenantId the expected tenant; by default the tenant of the first row that names one.
 */
export function rowVerifierOf(
  log: TreeLog,
  digests: TextDigests,
  corrections?: readonly ClockCorrection[],
  tenantId?: string,
): RowVerifier {
  switch (log) {
    case 'audit':
      return auditVerifier(digests, tenantId);
    case 'decisions':
      return decisionVerifier(digests, new RowTimes(log, corrections), tenantId);
    case 'evidence':
      return eventVerifier(
        digests,
        new RowTimes(log, corrections),
        { read: readEvidenceEvent, state: new EvidenceState() },
        tenantId,
      );
    case 'keys':
      return eventVerifier(digests, new RowTimes(log, corrections), { read: readKeyEvent, state: new KeyState() }, tenantId);
    case 'traces':
      return eventVerifier(digests, new RowTimes(log, corrections), { read: readTraceEvent, state: undefined }, tenantId);
  }
}

/** Returns the log that a row belongs to, by its members; undefined if it belongs to no log. */
export function logOf(row: unknown): TreeLog | undefined {
  if (!isObject(row)) return undefined;
  if (isObject(row.decision)) return 'decisions';
  if ('row_hash' in row) return 'audit';
  if ('key_id' in row && 'scopes' in row) return 'keys';
  if ('submissions' in row || row.action === 'traces.dropped') return 'traces';
  return EVIDENCE_ACTIONS.includes(row.action as EvidenceEvent['action']) ? 'evidence' : undefined;
}

function auditVerifier(digests: TextDigests, tenantId: string | undefined): RowVerifier {
  const verifier = new ChainVerifier(digests, tenantId);
  return {
    get tenantId() {
      return verifier.tenantId;
    },
    get head() {
      return verifier.head.rowHash;
    },
    corrections: verifier.corrections,
    restores: verifier.restores,
    tryLine: (line) => verifier.tryLine(line),
    next: (row) => verifier.next(row)?.reason,
  };
}

/**
 * Verifies rows `{"seq":n,"decision":{…}}`. Their leaf data is the computed digest. Signatures are not verified, because that needs the
 * decision key.
 */
function decisionVerifier(digests: TextDigests, times: RowTimes, expectedTenantId: string | undefined): RowVerifier {
  const ids = new Set<string>();
  const verifier: RowVerifier = {
    tenantId: expectedTenantId,
    head: null,
    corrections: [],
    tryLine: () => false,
    next: (row, expected) => {
      const { seq, decision, ...otherMembers } = isObject(row) ? row : {};
      if (!isObject(decision) || seq === undefined || Object.keys(otherMembers).length > 0)
        return 'the line is not {"seq":…,"decision":{…}}';
      if (seq !== expected)
        return `seq is ${JSON.stringify(seq)}, expected ${expected}: a decision is missing, repeated or moved`;
      const form = decisionFormFault(decision);
      if (form !== undefined) return form;
      const { tenant_id: tenantId, decision_id: id, response_sha256: signedDigest, timestamp } = decision as DecisionMembers;
      const computed = decisionDigest(decision, digests);
      if (signedDigest !== computed)
        return `response_sha256 is "${signedDigest}", but the decision hashes to ${computed}: the decision was altered`;
      if (tenantId === undefined ? expectedTenantId !== undefined : tenantId !== (verifier.tenantId ?? tenantId))
        return `tenant_id is ${tenantId === undefined ? 'missing' : `not ${verifier.tenantId}: the decision belongs to another tenant`}`;
      if (ids.has(id)) return `decision_id ${JSON.stringify(id)} is also in an earlier row: a decision was logged twice`;
      const fault = times.next(expected, timestamp, 'timestamp');
      if (fault !== undefined) return fault;
      ids.add(id);
      verifier.tenantId ??= tenantId;
      verifier.head = computed;
      return undefined;
    },
  };
  return verifier;
}

interface Event {
  tenant_id: string;
  recorded_at: string;
}

/** How the events of a log are read and applied. */
interface EventReading<E extends Event> {
  read(
    value: unknown,
    expected: { seq: number; tenantId: string | undefined },
    digests: TextDigests,
  ): { event: E; hash: string } | { fault: string };
  /** The state that the events are applied to; undefined for a log whose events are not compared with each other. */
  state: { apply(event: E): void } | undefined;
}

/** Verifies rows that are events. They contain no hash, so without a kept head an altered event can stay undetected. */
function eventVerifier<E extends Event>(
  digests: TextDigests,
  times: RowTimes,
  { read, state }: EventReading<E>,
  tenantId: string | undefined,
): RowVerifier {
  const verifier: RowVerifier = {
    tenantId,
    head: null,
    corrections: [],
    tryLine: () => false,
    next: (row, seq) => {
      const result = read(row, { seq, tenantId: verifier.tenantId }, digests);
      if ('fault' in result) return result.fault;
      const fault =
        times.next(seq, result.event.recorded_at, 'recorded_at') ??
        (state === undefined ? undefined : applyEvent(state, result.event));
      if (fault !== undefined) return fault;
      verifier.tenantId = result.event.tenant_id;
      verifier.head = result.hash;
      return undefined;
    },
  };
  return verifier;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
