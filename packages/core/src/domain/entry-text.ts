import { CanonicalReader, NO_END } from './canonical-text.ts';
import { NESTING_MAX } from './chain-report.ts';

const [QUOTE, BRACE, LETTER_N] = [0x22, 0x7b, 0x6e];

/** The members whose values are read, in canonical order. For each: the first character of its value, and whether null is allowed. */
const MEMBERS = [
  { name: 'action', first: QUOTE, nullable: false },
  { name: 'actor', first: QUOTE, nullable: false },
  { name: 'agent_id', first: QUOTE, nullable: true },
  { name: 'framework', first: QUOTE, nullable: true },
  { name: 'id', first: QUOTE, nullable: false },
  { name: 'metadata', first: BRACE, nullable: true },
  { name: 'rationale', first: QUOTE, nullable: true },
  { name: 'recorded_at', first: QUOTE, nullable: false },
  { name: 'recorded_by', first: QUOTE, nullable: false },
  { name: 'retention_until', first: QUOTE, nullable: true },
  { name: 'subject', first: QUOTE, nullable: true },
  { name: 'trace_id', first: QUOTE, nullable: true },
] as const;

type Member = (typeof MEMBERS)[number]['name'];

/** The values of the next row that are known before it is read. */
export interface ExpectedRow {
  seq: number;
  /** row_hash of the previous row, in hex; null for the first row. */
  prevHash: string | null;
  tenantId: string;
}

/**
 * Finds the values of members in the canonical text of an entry, without parsing it. Values that are known in advance are only compared.
 * One object reads many texts, one after the other.
 */
export class EntryText {
  readonly #reader = new CanonicalReader();
  /** The text that must precede the value of each member. */
  readonly #prefixes = MEMBERS.map(({ name }, index) => `${index === 0 ? '{' : ','}"${name}":`);
  readonly #starts = MEMBERS.map(() => 0);
  readonly #ends = MEMBERS.map(() => 0);
  #tenant = { id: '', json: '' };

  /**
   * Reads an entry that starts at `from`. Returns the end of its last member; the caller checks the text after it. Returns NO_END unless
   * all members have the expected names, types and canonical form, and the values in `expected` match.
   */
  read(text: string, from: number, expected: ExpectedRow): number {
    if (!this.#reader.setText(text)) return NO_END;
    this.#expect(expected);
    let at = from;
    for (let index = 0; index < MEMBERS.length; index += 1) {
      const prefix = this.#prefixes[index]!;
      // For a text that matches, indexOf is twice as fast as startsWith. A text that does not match is searched once and rejected.
      if (text.indexOf(prefix, at) !== at) return NO_END;
      at += prefix.length;
      this.#starts[index] = at;
      const { first, nullable } = MEMBERS[index]!;
      const char = text.charCodeAt(at);
      if (char !== first && !(nullable && char === LETTER_N)) return NO_END;
      at = this.#reader.endOf(at, NESTING_MAX - 1);
      if (at === NO_END) return NO_END;
      this.#ends[index] = at;
    }
    return text.startsWith(VERSION, at) ? at + VERSION.length : NO_END;
  }

  /** The value of a member of the entry that was read last. Not for `metadata`, whose value is not a string. */
  value(member: Member): string | null {
    const index = MEMBER_INDEX[member];
    const raw = this.#reader.text.slice(this.#starts[index]!, this.#ends[index]!);
    if (raw === 'null') return null;
    return raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1);
  }

  /** Puts the expected members into the text that must precede the next member. So comparing this text compares them. */
  #expect({ seq, prevHash, tenantId }: ExpectedRow): void {
    if (this.#tenant.id !== tenantId) this.#tenant = { id: tenantId, json: JSON.stringify(tenantId) };
    this.#prefixes[MEMBER_INDEX.rationale] = `,"prev_hash":${prevHash === null ? 'null' : `"${prevHash}"`},"rationale":`;
    this.#prefixes[MEMBER_INDEX.subject] = `,"seq":${seq},"subject":`;
    this.#prefixes[MEMBER_INDEX.trace_id] = `,"tenant_id":${this.#tenant.json},"trace_id":`;
  }
}

const VERSION = ',"version":1';
const MEMBER_INDEX = Object.fromEntries(MEMBERS.map(({ name }, index) => [name, index])) as Record<Member, number>;
