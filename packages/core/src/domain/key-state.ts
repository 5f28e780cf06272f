import { EventConflictError } from './event-conflict.ts';
import type { KeyEvent } from './key-event.ts';

/** A key as the key audit trail knows it. */
export interface KnownKey {
  readonly id: string;
  readonly kind: KeyEvent['kind'];
  readonly prefix: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** RFC 3339 with milliseconds; null for a key that does not expire. */
  readonly expiresAt: string | null;
  /** SHA-256 of the stored hash of its secret, hex. */
  readonly credentialSha256: string;
  readonly isRevoked: boolean;
}

/**
 * What the events of a key audit trail add up to. Keys are believed on this alone, so that a row that somebody else has written to the database, or an
 * older row put back, authenticates nobody.
 */
export class KeyState {
  #size = 0;
  readonly #byPrefix = new Map<string, KnownKey>();

  /** How many events have been applied. */
  get size(): number {
    return this.#size;
  }

  /** How many keys are known, revoked ones too. */
  get keyCount(): number {
    return this.#byPrefix.size;
  }

  key(prefix: string): KnownKey | undefined {
    return this.#byPrefix.get(prefix);
  }

  keys(): IterableIterator<KnownKey> {
    return this.#byPrefix.values();
  }

  /** Applies the next event. Throws EventConflictError when it does not follow from the events before it. */
  apply(event: KeyEvent): void {
    if (event.seq !== this.#size + 1) throw new EventConflictError(`event ${event.seq} follows event ${this.#size}`);
    const known = this.#byPrefix.get(event.prefix);
    if (event.action === 'minted' ? known !== undefined : known === undefined || known.isRevoked || known.id !== event.key_id)
      throw new EventConflictError(`${event.action} does not follow from what happened to key ${event.prefix} before`);
    this.#byPrefix.set(event.prefix, {
      id: event.key_id,
      kind: event.kind,
      prefix: event.prefix,
      name: event.name,
      scopes: event.scopes,
      expiresAt: event.expires_at,
      credentialSha256: event.credential_sha256,
      isRevoked: event.action === 'revoked',
    });
    this.#size += 1;
  }
}
