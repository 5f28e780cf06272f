import { styleText } from 'node:util';

/** A check of the tour failed. The message names the expected result, and the actual one unless it may contain a secret. */
export class CheckFailedError extends Error {
  override name = 'CheckFailedError';
}

/** The tour cannot start or continue, although no check has failed. The message says why. */
export class TourImpossibleError extends Error {
  override name = 'TourImpossibleError';
}

type Style = Parameters<typeof styleText>[0];

const WIDTH = 110;
const INDENT = '   ';

/** Prints the tour as plain text, with color only on a terminal. */
export class Narrator {
  #chapterCount = 0;
  readonly #write: (text: string) => void;
  readonly #usesColor: boolean;

  constructor(write: (text: string) => void, usesColor: boolean) {
    this.#write = write;
    this.#usesColor = usesColor;
  }

  /** Prints the start of a chapter: its title and its subject. */
  startChapter(title: string, about: string): void {
    this.#chapterCount += 1;
    this.#write(`\n${this.#styled('bold', `${this.#chapterCount}. ${title}`)}\n`);
    this.say(about);
    this.#write('\n');
  }

  /** Prints a paragraph. */
  say(text: string): void {
    this.#write(wrap(text, INDENT));
  }

  /** Prints a paragraph that introduces the next step of a chapter. */
  introduce(text: string): void {
    this.#write('\n');
    this.say(text);
  }

  /** Prints the next action: a command, or a request with the name of its key as `note`. */
  printAction(text: string, note = ''): void {
    this.#write(this.#styled('cyan', wrap(text, INDENT, '      ').trimEnd()));
    this.#write(note === '' ? '\n' : this.#styled('dim', `   [${note}]`) + '\n');
  }

  /** Prints the output of a command, or a response. */
  printOutput(text: string, style?: Style): void {
    this.#write(this.#styled(style, wrap(text, `${INDENT}  `, `${INDENT}    `).trimEnd()) + '\n');
  }

  /** Prints why the chapter matters. */
  explainWhy(text: string): void {
    this.#write('\n' + this.#styled('italic', wrap(`Why: ${text}`, INDENT).trimEnd()) + '\n');
  }

  /** Checks a promise of the product, and prints it. Throws a CheckFailedError if the two values differ. */
  check(promise: string, expected: unknown, actual: unknown): void {
    if (oneLineJson(expected) !== oneLineJson(actual))
      throw new CheckFailedError(`${promise}: expected ${oneLineJson(expected)}, got ${oneLineJson(actual)}`);
    this.printOutput(`ok: ${promise}`, 'green');
  }

  #styled(style: Style | undefined, text: string): string {
    return this.#usesColor && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
  }
}

/** A JSON value on one line, with spaces. */
export const oneLineJson = (value: unknown): string => (JSON.stringify(value, null, 1) ?? 'nothing').replace(/\n\s*/g, ' ');

/** Wraps words into indented lines. A word that is longer than a line, such as a hash, is not split. */
function wrap(text: string, firstIndent: string, otherIndent = firstIndent): string {
  const lines: string[] = [];
  let line = firstIndent;
  for (const word of text.split(' ')) {
    const hasWord = line.trim() !== '';
    if (hasWord && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = otherIndent + word;
    } else line += hasWord ? ` ${word}` : word;
  }
  return [...lines, line].join('\n') + '\n';
}
