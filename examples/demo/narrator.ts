import { styleText } from 'node:util';

/** Something was not as the tour says it must be. The message says what was expected and what came. */
export class Unexpected extends Error {
  override name = 'Unexpected';
}

/** The tour cannot begin, or cannot go on, for a reason that lies outside Countersign. The message names the remedy. */
export class CannotTour extends Error {
  override name = 'CannotTour';
}

type Style = Parameters<typeof styleText>[0];

const WIDTH = 110;
const INDENT = '   ';

/** Tells the tour: plain text, with colour on a terminal alone. */
export class Narrator {
  #chapters = 0;
  readonly #write: (text: string) => void;
  readonly #colour: boolean;

  constructor(write: (text: string) => void, colour: boolean) {
    this.#write = write;
    this.#colour = colour;
  }

  /** Begins a chapter, and says what it is about. */
  chapter(title: string, about: string): void {
    this.#chapters += 1;
    this.#write(`\n${this.#styled('bold', `${this.#chapters}. ${title}`)}\n`);
    this.say(about);
    this.#write('\n');
  }

  /** A paragraph. */
  say(text: string): void {
    this.#write(wrapped(text, INDENT));
  }

  /** What happens next in the chapter. */
  next(text: string): void {
    this.#write('\n');
    this.say(text);
  }

  /** What is done next: a command, or a request with the key that it is sent with. */
  act(text: string, note = ''): void {
    this.#write(this.#styled('cyan', wrapped(text, INDENT, '      ').trimEnd()));
    this.#write(note === '' ? '\n' : this.#styled('dim', `   [${note}]`) + '\n');
  }

  /** What came back. */
  answer(text: string, style?: Style): void {
    this.#write(this.#styled(style, wrapped(text, `${INDENT}  `, `${INDENT}    `).trimEnd()) + '\n');
  }

  /** The one sentence why it matters. */
  why(text: string): void {
    this.#write('\n' + this.#styled('italic', wrapped(`Why: ${text}`, INDENT).trimEnd()) + '\n');
  }

  /** A promise of the product that was checked just now. Ends the tour when it does not hold. */
  holds(promise: string, expected: unknown, got: unknown): void {
    if (inline(expected) !== inline(got)) throw new Unexpected(`${promise}: expected ${inline(expected)}, got ${inline(got)}`);
    this.answer(`ok: ${promise}`, 'green');
  }

  #styled(style: Style | undefined, text: string): string {
    return this.#colour && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
  }
}

/** A JSON value on one line, with room to read it. */
export const inline = (value: unknown): string => (JSON.stringify(value, null, 1) ?? 'nothing').replace(/\n\s*/g, ' ');

/** Words in lines; what is longer than a line (a hash) stays whole. */
function wrapped(text: string, first: string, others = first): string {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    const begun = line.trim() !== '';
    if (begun && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = others + word;
    } else line += begun ? ` ${word}` : word;
  }
  return [...lines, line].join('\n') + '\n';
}
