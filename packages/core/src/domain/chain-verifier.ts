import { type AcceptedRestore, RESTORE_ACCEPTED, restoreIn } from './accepted-restore.ts';
import { type ChainedEntry, type ChainHead, ENTRY_MEMBERS, rowHashOf } from './audit-chain.ts';
import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import { NO_END } from './canonical-text.ts';
import { allowsStep, CLOCK_CORRECTED, type ClockCorrection, correctionIn } from './clock-correction.ts';
import type { Digests } from './digests.ts';
import { EntryText } from './entry-text.ts';
import { isDate, isHash, isInstant, isRecordedBy, isUuid, orNull } from './member-forms.ts';

/** The first invalid row of a chain, with the reason. */
export interface ChainFault {
  /** The expected seq. */
  seq: number;
  reason: string;
}

const MEMBERS: ReadonlySet<string> = new Set(ENTRY_MEMBERS);
/** The actions whose metadata the verifier reads. */
const ACTIONS_WITH_METADATA: ReadonlySet<string | null | undefined> = new Set([CLOCK_CORRECTED, RESTORE_ACCEPTED]);
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
/** Members that must have a form. `version`, `tenant_id`, `seq`, `recorded_at`, `metadata` and `prev_hash` are checked separately. */
const FORMS = [
  { name: 'id', isOfForm: isUuid, form: 'a UUID in lower case' },
  {
    name: 'recorded_by',
    isOfForm: isRecordedBy,
    form: 'operator, system:promotion-gate, system:retention, key:<12 hex digits> or user:<UUID>',
  },
  { name: 'agent_id', isOfForm: orNull(isUuid), form: 'a UUID in lower case or null' },
  { name: 'retention_until', isOfForm: orNull(isDate), form: 'a date YYYY-MM-DD or null' },
] as const;

/**
 * Verifies one tenant's chain row by row, up to the first fault. Keeps only the head, the corrections and the restores in memory. The rows
 * are untrusted.
 */
export class ChainVerifier {
  /** The number and hash of the last valid row. */
  head: ChainHead = { seq: 0, rowHash: null };
  /** The tenant of the rows; undefined until it is known. */
  tenantId: string | undefined;
  /** The entry that tryLine or tryEntry read last. Its values are valid only if that call accepted the row. */
  readonly entryText = new EntryText();
  /** The corrections of the clock in the valid rows so far. */
  readonly corrections: ClockCorrection[] = [];
  /** The accepted restores in the valid rows so far. */
  readonly restores: AcceptedRestore[] = [];
  /** `recorded_at` of the last valid row; undefined before the first row. */
  #lastRecordedAt: string | undefined;
  readonly #digests: Pick<Digests, 'sha256Hex'>;

  /** @param tenantId the expected tenant; by default the tenant of the first row. */
  constructor(digests: Pick<Digests, 'sha256Hex'>, tenantId?: string) {
    this.#digests = digests;
    this.tenantId = tenantId;
  }

  /**
   * Verifies the next row. Returns its fault, or undefined if it is valid.
   * @param row the members of the entry, and `row_hash`.
   * @param text the stored text of the entry. If it is passed and is not the canonical text, that is a fault.
   */
  next(row: unknown, text?: string): ChainFault | undefined {
    const seq = this.head.seq + 1;
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return { seq, reason: 'the row is not an object' };
    const { row_hash: rowHash, ...entry } = row as Record<string, unknown>;
    const reason =
      this.#shapeFault(entry, rowHash) ?? this.#positionFault(entry, seq) ?? this.#hashFault(entry, rowHash as string, text);
    if (reason !== undefined) return { seq, reason };
    this.head = { seq, rowHash: rowHash as string };
    this.tenantId ??= entry.tenant_id as string;
    this.#lastRecordedAt = entry.recorded_at as string;
    const correction = correctionIn(entry);
    if (correction !== undefined) this.corrections.push(correction);
    const restore = restoreIn(entry);
    if (restore !== undefined) this.restores.push(restore);
    return undefined;
  }

  /**
   * Verifies the next row by its line in an export, if the line is the entry's canonical text with `row_hash` as the last member. This
   * takes a third of the time of parsing the line. Returns false if it does not accept the line. Then next() must verify the parsed row.
   */
  tryLine(line: string): boolean {
    const end = this.#endOfNext(line, 0);
    if (end === NO_END) return false;
    const computed = rowHashOf(`${line.slice(0, end)}}`, this.#digests);
    if (line.slice(end) !== `,"row_hash":"${computed}"}`) return false;
    this.#accept(computed);
    return true;
  }

  /** Like tryLine, for the canonical text of an entry that starts at `from`. Returns the end of the entry, or NO_END if not accepted. */
  tryEntry(text: string, from: number, rowHash: string): number {
    const end = this.#endOfNext(text, from);
    if (end === NO_END || text[end] !== '}' || rowHashOf(text.slice(from, end + 1), this.#digests) !== rowHash) return NO_END;
    this.#accept(rowHash);
    return end + 1;
  }

  /** The end of the entry's last member, or NO_END if next() must verify the row, for example because the row determines the tenant. */
  #endOfNext(text: string, from: number): number {
    const { head, tenantId, entryText } = this;
    if (tenantId === undefined) return NO_END;
    const end = entryText.read(text, from, { seq: head.seq + 1, prevHash: head.rowHash, tenantId });
    // next() must verify rows with these actions, because it also reads their metadata.
    if (end === NO_END || ACTIONS_WITH_METADATA.has(entryText.value('action'))) return NO_END;
    const at = entryText.value('recorded_at')!;
    const isInTimeOrder = at === this.#lastRecordedAt || (isInstant(at) && at > (this.#lastRecordedAt ?? ''));
    return isInTimeOrder && FORMS.every(({ name, isOfForm }) => isOfForm(entryText.value(name))) ? end : NO_END;
  }

  #accept(rowHash: string): void {
    this.head = { seq: this.head.seq + 1, rowHash };
    this.#lastRecordedAt = this.entryText.value('recorded_at')!;
  }

  #shapeFault(entry: Record<string, unknown>, rowHash: unknown): string | undefined {
    const names = Object.keys(entry);
    if (names.length !== MEMBERS.size || !names.every((name) => MEMBERS.has(name))) return membersFault(entry, names);
    if (!isHash(rowHash)) return 'row_hash is not 64 lower-case hex digits';
    if (entry.version !== 1) return `version ${JSON.stringify(entry.version)} is not known to this verifier`;
    for (const name of TEXTS) if (typeof entry[name] !== 'string') return `${name} is not a string`;
    for (const name of TEXTS_OR_NULL) if (typeof (entry[name] ?? '') !== 'string') return `${name} is not a string or null`;
    for (const { name, isOfForm, form } of FORMS) if (!isOfForm(entry[name])) return `${name} is not ${form}`;
    if (!isUuid(entry.tenant_id)) return 'tenant_id is not a UUID in lower case';
    const { metadata } = entry;
    if (typeof metadata !== 'object' || Array.isArray(metadata)) return 'metadata is not an object or null';
    return undefined;
  }

  #positionFault(entry: Record<string, unknown>, seq: number): string | undefined {
    if (entry.seq !== seq) return `seq is ${JSON.stringify(entry.seq)}, expected ${seq}: a row is missing, repeated or moved`;
    if (this.tenantId !== undefined && entry.tenant_id !== this.tenantId)
      return `tenant_id is not ${this.tenantId}: the row belongs to another tenant`;
    if (entry.prev_hash !== this.head.rowHash) {
      return `prev_hash is ${entry.prev_hash}, but row_hash of the previous row is ${this.head.rowHash}: the chain is broken here`;
    }
    const at = entry.recorded_at;
    if (!isInstant(at)) return 'recorded_at is not UTC with milliseconds';
    const last = this.#lastRecordedAt;
    if (last !== undefined && at < last && !allowsStep(correctionIn(entry)?.audit, seq, last, at))
      return `recorded_at ${at} is earlier than recorded_at of the previous row, ${last}`;
    return undefined;
  }

  #hashFault(entry: Record<string, unknown>, rowHash: string, text?: string): string | undefined {
    try {
      const canonical = canonicalJson(entry);
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

/** The fault of an entry with a missing or an unknown member. */
function membersFault(entry: Record<string, unknown>, names: readonly string[]): string {
  const missing = ENTRY_MEMBERS.find((member) => !Object.hasOwn(entry, member));
  if (missing !== undefined) return `${missing} is missing`;
  return `${JSON.stringify(names.find((name) => !MEMBERS.has(name)))} is not a member of an entry`;
}
