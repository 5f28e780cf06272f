import { type ChainedEntry, type ChainHead, ENTRY_MEMBERS, rowHashOf } from './audit-chain.ts';
import { canonicalJson, isInCanonicalOrder, NotCanonicalError } from './canonical-json.ts';
import type { Digests } from './digests.ts';

/** The first row that is wrong, and why. */
export interface ChainFault {
  /** The seq that should stand here. */
  seq: number;
  reason: string;
}

const MEMBERS: ReadonlySet<string> = new Set(ENTRY_MEMBERS);
const TEXTS = [
  'tenant_id',
  'id',
  'recorded_at',
  'recorded_by',
  'actor',
  'action',
] as const satisfies readonly (keyof ChainedEntry)[];
const TEXTS_OR_NULL = [
  'subject',
  'rationale',
  'framework',
  'trace_id',
  'agent_id',
  'retention_until',
  'prev_hash',
] as const satisfies readonly (keyof ChainedEntry)[];

/**
 * Walks one tenant's chain row by row. It shares the format with the writer and nothing else, keeps only the head in memory,
 * and stops at the first fault. Input is taken as hostile.
 */
export class ChainVerifier {
  head: ChainHead = { seq: 0, rowHash: null };
  tenantId: string | undefined;
  #lastRecordedAt = '';
  readonly #digests: Pick<Digests, 'sha256Hex'>;

  /** @param tenantId the tenant whose chain it must be; taken from the first row when left out. */
  constructor(digests: Pick<Digests, 'sha256Hex'>, tenantId?: string) {
    this.#digests = digests;
    this.tenantId = tenantId;
  }

  /**
   * Takes the next row: all members of the entry and `row_hash`. Returns what is wrong with it, or undefined.
   * @param text the entry as it is stored, where that must be its canonical text.
   * @param line the row's own JSON, where it is known to be just what JSON.stringify makes of the row, without half surrogate pairs.
   */
  next(row: unknown, text?: string, line?: string): ChainFault | undefined {
    const seq = this.head.seq + 1;
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return { seq, reason: 'the row is not an object' };
    const { row_hash: rowHash, ...entry } = row as Record<string, unknown>;
    const reason =
      this.#shapeFault(entry, rowHash) ?? this.#placeFault(entry, seq) ?? this.#hashFault(entry, rowHash as string, text, line);
    if (reason !== undefined) return { seq, reason };
    this.head = { seq, rowHash: rowHash as string };
    this.tenantId ??= entry.tenant_id as string;
    this.#lastRecordedAt = entry.recorded_at as string;
    return undefined;
  }

  #shapeFault(entry: Record<string, unknown>, rowHash: unknown): string | undefined {
    const names = Object.keys(entry);
    if (names.length !== MEMBERS.size || !names.every((name) => MEMBERS.has(name))) return membersFault(entry, names);
    if (typeof rowHash !== 'string' || !/^[0-9a-f]{64}$/.test(rowHash)) return 'row_hash is not 64 lower-case hex digits';
    if (entry.version !== 1) return `version ${JSON.stringify(entry.version)} is not known to this verifier`;
    for (const name of TEXTS) if (typeof entry[name] !== 'string') return `${name} is not a string`;
    for (const name of TEXTS_OR_NULL) if (typeof (entry[name] ?? '') !== 'string') return `${name} is not a string or null`;
    const { metadata } = entry;
    if (typeof metadata !== 'object' || Array.isArray(metadata)) return 'metadata is not an object or null';
    return undefined;
  }

  #placeFault(entry: Record<string, unknown>, seq: number): string | undefined {
    if (entry.seq !== seq) return `seq is ${JSON.stringify(entry.seq)}, expected ${seq}: a row is missing, repeated or moved`;
    if (this.tenantId !== undefined && entry.tenant_id !== this.tenantId)
      return `tenant_id is not ${this.tenantId}: a row of another tenant`;
    if (entry.prev_hash !== this.head.rowHash) {
      return `prev_hash is ${entry.prev_hash}, but the row before has row_hash ${this.head.rowHash}: the chain is cut here`;
    }
    const at = entry.recorded_at;
    if (typeof at !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at))
      return 'recorded_at is not UTC with milliseconds';
    if (at < this.#lastRecordedAt) return `recorded_at ${at} is before that of the row before, ${this.#lastRecordedAt}`;
    return undefined;
  }

  #hashFault(entry: Record<string, unknown>, rowHash: string, text?: string, line?: string): string | undefined {
    try {
      const canonical = (line === undefined ? undefined : entryOfLine(line, entry, rowHash)) ?? canonicalJson(entry);
      const computed = rowHashOf(canonical, this.#digests);
      if (computed !== rowHash) return `row_hash is ${rowHash}, but the content hashes to ${computed}: the row was altered`;
      return text === undefined || text === canonical ? undefined : 'the stored text is not in canonical form: it was altered';
    } catch (error) {
      if (error instanceof NotCanonicalError || error instanceof RangeError)
        return `the content has no canonical form: ${error.message}`;
      throw error;
    }
  }
}

/** Which member is missing, or one too many. */
function membersFault(entry: Record<string, unknown>, names: readonly string[]): string {
  const missing = ENTRY_MEMBERS.find((member) => !Object.hasOwn(entry, member));
  if (missing !== undefined) return `${missing} is missing`;
  return `${JSON.stringify(names.find((name) => !MEMBERS.has(name)))} is not a member of an entry`;
}

/** The entry's canonical text as it stands in an exact line before its row_hash; undefined where the line has another order. */
function entryOfLine(line: string, entry: Record<string, unknown>, rowHash: string): string | undefined {
  const end = `,"row_hash":"${rowHash}"}`;
  return line.endsWith(end) && isInCanonicalOrder(entry) ? `${line.slice(0, -end.length)}}` : undefined;
}
