import { CanonicalText, NO_END } from './canonical-text.ts';
import { NESTING_MAX } from './chain-report.ts';

const [QUOTE, BRACE, LETTER_N] = [0x22, 0x7b, 0x6e];

/** The members of an entry that are read, in canonical order: what each begins with, and whether it may be null instead. */
const READ = [
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

type Member = (typeof READ)[number]['name'];

/** What is known of the next row before it is read. */
export interface KnownPlace {
  seq: number;
  /** row_hash of the row before, hexadecimal. */
  prevHash: string | null;
  tenantId: string;
}

/**
 * An entry's canonical text, read without being parsed: where the members' values stand in it. What is known beforehand is not read but
 * must stand there as it is known. One object reads many texts in turn.
 */
export class EntryText {
  readonly #reader = new CanonicalText();
  readonly #befores = READ.map(({ name }, place) => `${place === 0 ? '{' : ','}"${name}":`);
  readonly #starts = READ.map(() => 0);
  readonly #ends = READ.map(() => 0);
  #tenant = { id: '', json: '' };

  /**
   * Reads an entry that begins at a place of a text up to its last member's end, and gives that place: the closing brace stands there, or
   * more members. NO_END unless the members are those of an entry at its place, all in canonical form and of the right kinds.
   */
  read(text: string, from: number, known: KnownPlace): number {
    if (!this.#reader.open(text)) return NO_END;
    this.#expect(known);
    let at = from;
    for (let place = 0; place < READ.length; place += 1) {
      const before = this.#befores[place]!;
      // Twice as fast as startsWith where it stands there; where it does not, nothing more is searched.
      if (text.indexOf(before, at) !== at) return NO_END;
      at += before.length;
      this.#starts[place] = at;
      const { first, nullable } = READ[place]!;
      const char = text.charCodeAt(at);
      if (char !== first && !(nullable && char === LETTER_N)) return NO_END;
      at = this.#reader.endOf(at, NESTING_MAX - 1);
      if (at === NO_END) return NO_END;
      this.#ends[place] = at;
    }
    return text.startsWith(VERSION, at) ? at + VERSION.length : NO_END;
  }

  /** What a member says. */
  value(member: Member): string | null {
    const place = PLACE[member];
    const raw = this.#reader.text.slice(this.#starts[place]!, this.#ends[place]!);
    if (raw === 'null') return null;
    return raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1);
  }

  /** The members that are known stand before others that are read. */
  #expect({ seq, prevHash, tenantId }: KnownPlace): void {
    if (this.#tenant.id !== tenantId) this.#tenant = { id: tenantId, json: JSON.stringify(tenantId) };
    this.#befores[PLACE.rationale] = `,"prev_hash":${prevHash === null ? 'null' : `"${prevHash}"`},"rationale":`;
    this.#befores[PLACE.subject] = `,"seq":${seq},"subject":`;
    this.#befores[PLACE.trace_id] = `,"tenant_id":${this.#tenant.json},"trace_id":`;
  }
}

const VERSION = ',"version":1';
const PLACE = Object.fromEntries(READ.map(({ name }, place) => [name, place])) as Record<Member, number>;
