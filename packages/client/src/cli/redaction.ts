/** A key of either kind, as it stands in text. The prefix may be seen, the secret never. */
const KEY = /aa_(live|read)_([0-9a-f]{12})\.[A-Za-z0-9_-]+/g;

/** Whether a text holds a whole key. */
export const holdsKey = (text: string): boolean => text.search(KEY) !== -1;

/** Takes secrets out of everything that is written, whatever it was made of: messages, errors, what a server sent back. */
export class Redaction {
  readonly #secrets = new Set<string>();

  /** Names a secret that must not be written. */
  add(secret: string): void {
    if (secret.length >= 8) this.#secrets.add(secret);
  }

  /** The text without secrets. */
  of(text: string): string {
    let clean = text.replace(KEY, 'aa_$1_$2.***');
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, '***');
    return clean;
  }
}
