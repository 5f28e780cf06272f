import { canonicalJson } from './canonical-json.ts';
import type { Digests } from './digests.ts';

/** Prefix of the hashed text: the kind and version, so that texts of other kinds have other hashes (docs/formats.md, "Audit row"). */
const DOMAIN = 'countersign/audit-entry/v1\n';

/** The verified writer of a row. The server sets it; `actor`, in contrast, is only a claim of the sender. */
export type RecordedBy = `key:${string}` | `user:${string}` | 'system:promotion-gate' | 'system:retention' | 'operator';

/** Everything that the hash of a row covers. Every member is present. A member that was not sent is null. */
export interface ChainedEntry {
  version: 1;
  tenant_id: string;
  /** Starts at 1, without gaps. */
  seq: number;
  id: string;
  /** UTC with milliseconds: the exact text that is stored, hashed and shown. */
  recorded_at: string;
  recorded_by: string;
  actor: string;
  action: string;
  subject: string | null;
  rationale: string | null;
  framework: string | null;
  trace_id: string | null;
  agent_id: string | null;
  retention_until: string | null;
  metadata: Record<string, unknown> | null;
  /** row_hash of the previous row; null in row 1. */
  prev_hash: string | null;
}

/** The member names of ChainedEntry. A row of an export has these and `row_hash`, and no others. */
export const ENTRY_MEMBERS = [
  'version',
  'tenant_id',
  'seq',
  'id',
  'recorded_at',
  'recorded_by',
  'actor',
  'action',
  'subject',
  'rationale',
  'framework',
  'trace_id',
  'agent_id',
  'retention_until',
  'metadata',
  'prev_hash',
] as const satisfies readonly (keyof ChainedEntry)[];

/** The head of a chain: number and hash of its last row; seq 0 and null for an empty chain. */
export interface ChainHead {
  seq: number;
  rowHash: string | null;
}

/** A row to store: the canonical text that was hashed, and its hash. */
export interface ChainedRow {
  entry: ChainedEntry;
  canonical: string;
  rowHash: string;
}

/** The hash of a row, from the canonical text of its entry: 64 hex digits. */
export const rowHashOf = (canonical: string, digests: Pick<Digests, 'sha256Hex'>): string =>
  digests.sha256Hex(DOMAIN + canonical);

/** An entry before it is linked to a chain. */
export type UnlinkedEntry = Omit<ChainedEntry, 'version' | 'seq' | 'prev_hash'>;

/**
 * Links entries to a head, in order, and returns the rows. The caller must hold the lock of the head.
 * @throws NotCanonicalError if an entry has no canonical form
 */
export function linkEntries(
  head: ChainHead,
  entries: readonly UnlinkedEntry[],
  digests: Pick<Digests, 'sha256Hex'>,
): ChainedRow[] {
  let { seq, rowHash } = head;
  return entries.map((unlinked) => {
    seq += 1;
    const entry = withPosition(unlinked, seq, rowHash);
    const canonical = canonicalJson(entry);
    rowHash = rowHashOf(canonical, digests);
    return { entry, canonical, rowHash };
  });
}

/** Adds the position to an entry. The members are in canonical order, so that canonicalJson can use JSON.stringify. */
const withPosition = (entry: UnlinkedEntry, seq: number, prevHash: string | null): ChainedEntry => ({
  action: entry.action,
  actor: entry.actor,
  agent_id: entry.agent_id,
  framework: entry.framework,
  id: entry.id,
  metadata: entry.metadata,
  prev_hash: prevHash,
  rationale: entry.rationale,
  recorded_at: entry.recorded_at,
  recorded_by: entry.recorded_by,
  retention_until: entry.retention_until,
  seq,
  subject: entry.subject,
  tenant_id: entry.tenant_id,
  trace_id: entry.trace_id,
  version: 1,
});
