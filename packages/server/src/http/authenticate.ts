import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { KeyScope } from '@countersign/core/contract/scopes';
import { parseIngestionKey, sentKey } from '@countersign/core/domain/ingestion-key';
import type { Pool } from 'pg';
import { ApiError, unavailable } from '../api-error.ts';
import { isDatabaseAway } from '../database/pool.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import type { Principal } from '../ingest/endpoint.ts';
import { findKeys, type KeyRecord, touchKey } from '../storage/ingestion-keys.ts';

/** A secret that no key has: an unknown prefix is compared against it, and costs the same work as a known one. */
const NOBODY = { secretSha256: Buffer.alloc(32), dead: true } as const;

/** Resolves keys to principals. Nothing is remembered between requests but when a key's use was last noted. */
export class Authenticator {
  readonly #pool: Pool;
  readonly #lookups: KeyLookups;
  readonly #lastNoted = new Map<string, number>();

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#lookups = new KeyLookups(pool);
  }

  /** Who is asking, if their key has the scope. One and the same 401 for every key that is not good. */
  async authenticate(headers: IncomingHttpHeaders, scope: KeyScope): Promise<Principal> {
    const key = parseIngestionKey(sentKey(headers.authorization, headers['x-service-key'] as string | undefined) ?? '');
    if (key === undefined) throw unauthorized();
    const record = await this.#lookups.find(key.prefix);
    const { secretSha256, dead } = record ?? NOBODY;
    const same = timingSafeEqual(hash('sha256', key.secret, 'buffer'), secretSha256);
    if (record === undefined || record.kind !== key.kind || !same || dead) throw unauthorized();
    this.#noteUse(record);
    if (!record.scopes.includes(scope)) throw insufficientScope(scope);
    return { tenantId: record.tenantId, keyId: record.keyId, prefix: record.prefix, scopes: record.scopes };
  }

  /** Last use, at most once a minute, beside the request and not before it: a failure here is nobody's. */
  #noteUse({ tenantId, keyId }: KeyRecord): void {
    const now = Date.now();
    if (now - (this.#lastNoted.get(keyId) ?? 0) < 60_000) return;
    if (this.#lastNoted.size >= 10_000) this.#lastNoted.clear();
    this.#lastNoted.set(keyId, now);
    inTenantTransaction(this.#pool, tenantId, (tx) => touchKey(tx, keyId)).catch(() => this.#lastNoted.delete(keyId));
  }
}

/** One challenge for all: it says neither whether the prefix exists nor what was wrong. */
const unauthorized = (): ApiError => new ApiError('unauthorized', [], { 'WWW-Authenticate': 'Bearer' });

const insufficientScope = (scope: KeyScope): ApiError =>
  new ApiError(
    'insufficient_scope',
    [{ path: '', code: 'missing_scope', message: `this endpoint needs a key with the scope ${scope}` }],
    {
      'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
    },
  );

/** Looks keys up in the database for every request: those of one turn of the event loop travel in one statement. */
class KeyLookups {
  readonly #pool: Pool;
  #waiting = new Map<string, ((result: Promise<KeyRecord | undefined>) => void)[]>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The key of a prefix as the database has it after this call began. */
  find(prefix: string): Promise<KeyRecord | undefined> {
    if (this.#waiting.size === 0) setImmediate(() => this.#flush());
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(prefix);
      if (waiting === undefined) this.#waiting.set(prefix, [resolve]);
      else waiting.push(resolve);
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    const found = findKeys(this.#pool, [...waiting.keys()]).then(
      (keys) => new Map(keys.map((key) => [key.prefix, key])),
      (error: unknown) => {
        throw isDatabaseAway(error) ? unavailable() : error;
      },
    );
    for (const [prefix, resolvers] of waiting) {
      for (const resolve of resolvers) resolve(found.then((keys) => keys.get(prefix)));
    }
  }
}
