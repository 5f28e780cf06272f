import { EventConflictError } from './event-conflict.ts';
import type { KeyEvent } from './key-event.ts';

/** A key as the events of the key audit trail describe it. */
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
 * The state that the events of a key audit trail produce. A key is valid only if this state contains it, with the ID and the secret hash of
 * its row. So a row that was written without the server, or set back to an older version, cannot make a key valid.
 */
export class KeyState {
  #size = 0;
  readonly #byPrefix = new Map<string, KnownKey>();

  /** The number of applied events. */
  get size(): number {
    return this.#size;
  }

  /** The number of known keys, including revoked ones. */
  get keyCount(): number {
    return this.#byPrefix.size;
  }

  /** The key with this prefix, even if it is revoked; undefined if there is none. */
  key(prefix: string): KnownKey | undefined {
    return this.#byPrefix.get(prefix);
  }

  /** All keys, including revoked ones. */
  keys(): IterableIterator<KnownKey> {
    return this.#byPrefix.values();
  }

  /** Applies the next event. Throws EventConflictError if it contradicts the earlier events. */
  apply(event: KeyEvent): void {
    if (event.seq !== this.#size + 1)
      throw new EventConflictError(`event ${event.seq} follows event ${this.#size}: an event is missing or repeated`);
    const knownKey = this.#byPrefix.get(event.prefix);
    if (
      event.action === 'minted'
        ? knownKey !== undefined
        : knownKey === undefined || knownKey.isRevoked || knownKey.id !== event.key_id
    )
      throw new EventConflictError(`the event ${event.action} contradicts the earlier events of key ${event.prefix}`);
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
