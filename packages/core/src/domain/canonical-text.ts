/** Returned instead of the end of a value if no canonical value starts at the position. */
export const NO_END = -1;

const [QUOTE, COMMA, COLON, BACKSLASH, SPACE] = [0x22, 0x2c, 0x3a, 0x5c, 0x20];
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d];

/** A backslash or a control character. Most texts contain neither; in such a text every quote starts or ends a string. */
const ESCAPE_OR_CONTROL = /[\\\u0000-\u001f]/;

/** The escapes of RFC 8785, section 3.2.2.2: the short form if there is one, else lower-case hex. */
const CANONICAL_ESCAPE = /^\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))/;

/**
 * Checks whether a text is canonical JSON (RFC 8785) without parsing it. If it is canonical, its hash can be computed from the text
 * itself. Parsing the value and writing it again would take four times as long. One object checks many texts, one after the other.
 */
export class CanonicalReader {
  text = '';
  #isPlain = false;

  /** Sets the text to check. Returns false if it has a lone surrogate, and so no UTF-8 form; then do not call `endOf`. */
  setText(text: string): boolean {
    this.text = text;
    this.#isPlain = !ESCAPE_OR_CONTROL.test(text);
    return text.isWellFormed();
  }

  /**
   * Returns the end of the canonical value that starts at `at`; NO_END if there is none.
   * @param depthMax the maximum nesting of the value: objects and arrays inside each other.
   */
  endOf(at: number, depthMax: number): number {
    const { text } = this;
    switch (text.charCodeAt(at)) {
      case QUOTE:
        return this.#endOfString(at);
      case BRACE:
        return depthMax > 0 ? this.#endOfObject(at, depthMax - 1) : NO_END;
      case BRACKET:
        return depthMax > 0 ? this.#endOfArray(at, depthMax - 1) : NO_END;
      case 0x6e:
        return text.startsWith('null', at) ? at + 4 : NO_END;
      case 0x74:
        return text.startsWith('true', at) ? at + 4 : NO_END;
      case 0x66:
        return text.startsWith('false', at) ? at + 5 : NO_END;
      default:
        return this.#endOfNumber(at);
    }
  }

  #endOfString(start: number): number {
    if (this.#isPlain) {
      const quote = this.text.indexOf('"', start + 1);
      return quote === -1 ? NO_END : quote + 1;
    }
    for (let at = start + 1; at < this.text.length; at += 1) {
      const char = this.text.charCodeAt(at);
      if (char === QUOTE) return at + 1;
      if (char < SPACE) return NO_END;
      if (char !== BACKSLASH) continue;
      const escaped = CANONICAL_ESCAPE.exec(this.text.slice(at, at + 6))?.[0];
      if (escaped === undefined) return NO_END;
      at += escaped.length - 1;
    }
    return NO_END;
  }

  /** A number is canonical if its double prints as the same text. */
  #endOfNumber(start: number): number {
    let at = start;
    while (isNumberChar(this.text.charCodeAt(at))) at += 1;
    const literal = this.text.slice(start, at);
    return at > start && String(Number(literal)) === literal ? at : NO_END;
  }

  #endOfArray(start: number, depthMax: number): number {
    let at = start + 1;
    if (this.text.charCodeAt(at) === BRACKET_END) return at + 1;
    for (;;) {
      at = this.endOf(at, depthMax);
      if (at === NO_END) return NO_END;
      const char = this.text.charCodeAt(at);
      at += 1;
      if (char === BRACKET_END) return at;
      if (char !== COMMA) return NO_END;
    }
  }

  /** Each name must be greater than the previous name, by UTF-16 code units. So no name is repeated. */
  #endOfObject(start: number, depthMax: number): number {
    const { text } = this;
    let at = start + 1;
    if (text.charCodeAt(at) === BRACE_END) return at + 1;
    for (let last: string | undefined; ; ) {
      const nameEnd = text.charCodeAt(at) === QUOTE ? this.#endOfString(at) : NO_END;
      if (nameEnd === NO_END || text.charCodeAt(nameEnd) !== COLON) return NO_END;
      const escapedName = text.slice(at + 1, nameEnd - 1);
      const name: string = escapedName.includes('\\') ? JSON.parse(`"${escapedName}"`) : escapedName;
      if (last !== undefined && last >= name) return NO_END;
      last = name;
      at = this.endOf(nameEnd + 1, depthMax);
      if (at === NO_END) return NO_END;
      const char = text.charCodeAt(at);
      at += 1;
      if (char === BRACE_END) return at;
      if (char !== COMMA) return NO_END;
    }
  }
}

const isNumberChar = (char: number): boolean =>
  (char >= 0x30 && char <= 0x39) || char === 0x2d || char === 0x2e || char === 0x65 || char === 0x2b;
