/** An ingestion key or a read token in a text. The prefix of a key may be printed, its secret never. */
const KEY = /aa_(live|read)_([0-9a-f]{12})\.[A-Za-z0-9_-]+/g;

/** Whether a text contains a key with a secret. */
export const containsKey = (text: string): boolean => text.search(KEY) !== -1;

/** Removes secrets from all output: messages, errors and responses. */
export class Redaction {
  readonly #secrets = new Set<string>();

  /** Registers a secret to remove. A text shorter than 8 characters is ignored. */
  add(secret: string): void {
    if (secret.length >= 8) this.#secrets.add(secret);
  }

  /** The text without secrets. */
  apply(text: string): string {
    let clean = text.replace(KEY, 'aa_$1_$2.***');
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, '***');
    return clean;
  }
}
