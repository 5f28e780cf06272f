import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { KeyScope } from '@countersign/core/contract/scopes';
import { keyInHeaders, parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import type { KnownKey } from '@countersign/core/domain/key-state';
import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { isDatabaseUnavailable } from '../database/pool.ts';
import type { TenantNodes } from '../database/tenant-nodes.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { ApiError, unavailable } from '../errors/api-error.ts';
import type { Principal } from '../ingest/ingest-request.ts';
import { verifyKey } from '../ledger/key-states.ts';
import { findKeys, type KeyRecord, touchKey } from '../storage/ingestion-keys.ts';
import { KeysOnNodes } from '../storage/keys-on-nodes.ts';

/** A hash that no known secret has. Secrets with an unknown prefix are compared with it, so that every comparison takes the same time. */
const NO_SECRET = Buffer.alloc(32);

/**
 * If reading a body takes longer than this, the key of its request is checked again. Checking every key again would cost a lookup per
 * request.
 */
const LATE_BODY_MS_MIN = 1_000;

/** Resolves keys to principals. A key's row is read for every request, and must match the key audit trail. */
export class Authenticator {
  readonly #pool: Pool;
  readonly #lookups: KeyLookups;
  readonly #lastNoted = new Map<string, number>();

  /** @param nodes the nodes of Citus on which keys are looked up; undefined if there are none (open-tenant-nodes.ts). */
  constructor(pool: Pool, nodes: TenantNodes | undefined) {
    this.#pool = pool;
    const onNodes = nodes === undefined ? undefined : new KeysOnNodes(pool, nodes);
    this.#lookups = new KeyLookups((prefixes) => onNodes?.find(prefixes) ?? [{ prefixes, found: findKeys(pool, prefixes) }]);
  }

  /**
   * Returns the principal of a request whose key is valid and has the scope. Throws the same 401 for every missing or invalid key, another
   * 401 for a missing scope, and 503 if the database is unavailable. Also throws if the key audit trail is not valid.
   */
  async authenticate(headers: IncomingHttpHeaders, scope: KeyScope): Promise<Principal> {
    const key = parseIngestionKey(keyInHeaders(headers.authorization, headers['x-service-key'] as string | undefined) ?? '');
    if (key === undefined) throw unauthorized();
    const record = await this.#lookups.find(key.prefix);
    const isSameSecret = timingSafeEqual(hash('sha256', key.secret, 'buffer'), record?.secretSha256 ?? NO_SECRET);
    const verification = record === undefined || !isSameSecret ? undefined : verifyKey(this.#pool, record);
    const validKey = verification instanceof Promise ? await verification.catch(asUnavailable) : verification;
    if (record === undefined || validKey === undefined || validKey.kind !== key.kind || this.#isRevokedOrExpired(validKey))
      throw unauthorized();
    this.#noteUse(record);
    const scopes = validKey.scopes as KeyScope[];
    if (!scopes.includes(scope)) throw insufficientScope(scope);
    return { tenantId: record.tenantId, keyId: record.keyId, prefix: record.prefix, scopes };
  }

  /**
   * Authenticates a request again after its body was read, unless the body arrived soon after the first check. The key may have been
   * revoked or changed in between. Throws like `authenticate`.
   * @param sinceMs the time of the first check, by `performance.now()`.
   */
  async authenticateAgain(headers: IncomingHttpHeaders, scope: KeyScope, sinceMs: number): Promise<void> {
    if (performance.now() - sinceMs > LATE_BODY_MS_MIN) await this.authenticate(headers, scope);
  }

  /** Whether a key is revoked or expired. A jump of the clock neither expires a key nor makes an expired key valid. */
  #isRevokedOrExpired({ isRevoked, expiresAt }: KnownKey): boolean {
    return isRevoked || (expiresAt !== null && Date.parse(expiresAt) <= clockOf(this.#pool).now().getTime());
  }

  /**
   * Records the last use of a key about once a minute, without delaying the request. Does nothing during a fault of the clocks. Failures
   * are ignored: the next use tries again.
   */
  #noteUse({ tenantId, keyId }: KeyRecord): void {
    const now = performance.now();
    if (now - (this.#lastNoted.get(keyId) ?? -Infinity) < 60_000) return;
    if (this.#lastNoted.size >= 10_000) this.#lastNoted.clear();
    if (clockOf(this.#pool).fault() !== undefined) return;
    this.#lastNoted.set(keyId, now);
    inTenantTransaction(this.#pool, tenantId, (tx) => touchKey(tx, keyId)).catch(() => this.#lastNoted.delete(keyId));
  }
}

/** The same error for all invalid keys: it reveals neither whether the prefix exists nor what is wrong. */
const unauthorized = (): ApiError => new ApiError('unauthorized', [], { 'WWW-Authenticate': 'Bearer' });

const insufficientScope = (scope: KeyScope): ApiError =>
  new ApiError(
    'insufficient_scope',
    [
      {
        path: '',
        code: 'missing_scope',
        message: `this endpoint needs ${scope === 'read' ? 'a read token (`tokens mint`)' : `a key with the scope ${scope}`}`,
      },
    ],
    {
      'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
    },
  );

/** One lookup of the keys of all requests of one tick. */
interface Lookup {
  prefixes: Set<string>;
  /** Maps each prefix to the result of its part of the lookup. A result maps the prefixes of the found keys to these keys. */
  results: Promise<ReadonlyMap<string, Promise<ReadonlyMap<string, KeyRecord>>>>;
}

/** Looks up the keys with these prefixes, in parts that do not wait for each other: several on Citus, otherwise one. */
type FindKeys = (prefixes: readonly string[]) => readonly { prefixes: readonly string[]; found: Promise<KeyRecord[]> }[];

/** Reads keys from the database for every request. The keys of the requests of one tick are looked up together. */
class KeyLookups {
  readonly #findKeys: FindKeys;
  #next: Lookup | undefined;

  constructor(find: FindKeys) {
    this.#findKeys = find;
  }

  /** Finds the key with a prefix. The database is read after this call. Throws 503 if the database is unavailable. */
  async find(prefix: string): Promise<KeyRecord | undefined> {
    this.#next ??= this.#prepare();
    this.#next.prefixes.add(prefix);
    const parts = await this.#next.results;
    return (await parts.get(prefix))?.get(prefix);
  }

  #prepare(): Lookup {
    const prefixes = new Set<string>();
    const endOfTurn = new Promise<void>((resolve) => setImmediate(resolve));
    const results = endOfTurn.then(() => {
      this.#next = undefined; // Later calls must not get a result that was read before them.
      return this.#read(prefixes);
    });
    return { prefixes, results };
  }

  #read(prefixes: ReadonlySet<string>): ReadonlyMap<string, Promise<ReadonlyMap<string, KeyRecord>>> {
    const parts = new Map<string, Promise<ReadonlyMap<string, KeyRecord>>>();
    for (const part of this.#findKeys([...prefixes])) {
      const result = part.found.then((keys) => new Map(keys.map((key) => [key.prefix, key])), asUnavailable);
      for (const prefix of part.prefixes) parts.set(prefix, result);
    }
    return parts;
  }
}

/** Throws 503 if the error means that the database is unavailable, and otherwise the error itself. */
function asUnavailable(error: unknown): never {
  throw isDatabaseUnavailable(error) ? unavailable(error) : error;
}
