import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { KeyScope } from '@countersign/core/contract/scopes';
import { parseIngestionKey, sentKey } from '@countersign/core/domain/ingestion-key';
import type { KnownKey } from '@countersign/core/domain/key-state';
import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { isDatabaseAway } from '../database/pool.ts';
import type { TenantNodes } from '../database/tenant-nodes.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { ApiError, unavailable } from '../errors/api-error.ts';
import type { Principal } from '../ingest/ingest-request.ts';
import { verifiedKey } from '../ledger/key-states.ts';
import { findKeys, type KeyRecord, touchKey } from '../storage/ingestion-keys.ts';
import { KeysOnNodes } from '../storage/keys-on-nodes.ts';

/** A secret that no key has. Unknown prefixes are compared with it, so that they cost as much time as known ones. */
const NO_SECRET = Buffer.alloc(32);

/** Resolves keys to principals. A key's row is read for every request, and must match the key audit trail. */
export class Authenticator {
  readonly #pool: Pool;
  readonly #lookups: KeyLookups;
  readonly #lastNoted = new Map<string, number>();

  /** @param nodes the nodes of Citus on which keys can be looked up. */
  constructor(pool: Pool, nodes: TenantNodes | undefined) {
    this.#pool = pool;
    const onNodes = nodes === undefined ? undefined : new KeysOnNodes(pool, nodes);
    this.#lookups = new KeyLookups((prefixes) => onNodes?.find(prefixes) ?? findKeys(pool, prefixes));
  }

  /** The principal of a request, if its key has the scope. All invalid keys get the same 401. */
  async authenticate(headers: IncomingHttpHeaders, scope: KeyScope): Promise<Principal> {
    const key = parseIngestionKey(sentKey(headers.authorization, headers['x-service-key'] as string | undefined) ?? '');
    if (key === undefined) throw unauthorized();
    const record = await this.#lookups.find(key.prefix);
    const isSame = timingSafeEqual(hash('sha256', key.secret, 'buffer'), record?.secretSha256 ?? NO_SECRET);
    const verification = record === undefined || !isSame ? undefined : verifiedKey(this.#pool, record);
    const known = verification instanceof Promise ? await verification.catch(asUnavailable) : verification;
    if (record === undefined || known === undefined || known.kind !== key.kind || this.#isInactive(known)) throw unauthorized();
    this.#noteUse(record);
    const scopes = known.scopes as KeyScope[];
    if (!scopes.includes(scope)) throw insufficientScope(scope);
    return { tenantId: record.tenantId, keyId: record.keyId, prefix: record.prefix, scopes };
  }

  /** Whether a key is revoked or expired. After a jump of the clock no key expires, and no expired key is accepted. */
  #isInactive({ isRevoked, expiresAt }: KnownKey): boolean {
    return isRevoked || (expiresAt !== null && Date.parse(expiresAt) <= clockOf(this.#pool).now().getTime());
  }

  /**
   * Records the last use of a key, about once a minute at most, without delaying the request. A failure is ignored, and the next use tries
   * again.
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

/** The same challenge for all invalid keys: it reveals neither whether the prefix exists nor what is wrong. */
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

/** The keys of one query. */
interface Lookup {
  prefixes: Set<string>;
  found: Promise<ReadonlyMap<string, KeyRecord>>;
}

/** Reads keys from the database for every request. The requests of one tick share a query. */
class KeyLookups {
  readonly #findKeys: (prefixes: readonly string[]) => Promise<KeyRecord[]>;
  #next: Lookup | undefined;

  constructor(findKeys: (prefixes: readonly string[]) => Promise<KeyRecord[]>) {
    this.#findKeys = findKeys;
  }

  /** The key with a prefix. The database is read after this call. */
  async find(prefix: string): Promise<KeyRecord | undefined> {
    this.#next ??= this.#prepare();
    this.#next.prefixes.add(prefix);
    return (await this.#next.found).get(prefix);
  }

  #prepare(): Lookup {
    const prefixes = new Set<string>();
    const endOfTurn = new Promise<void>((resolve) => setImmediate(resolve));
    const found = endOfTurn.then(() => {
      this.#next = undefined; // Later calls must not get a result that was read before them.
      return this.#read(prefixes);
    });
    return { prefixes, found };
  }

  async #read(prefixes: ReadonlySet<string>): Promise<ReadonlyMap<string, KeyRecord>> {
    try {
      return new Map((await this.#findKeys([...prefixes])).map((key) => [key.prefix, key]));
    } catch (error) {
      return asUnavailable(error);
    }
  }
}

/** Throws 503 if the error means that the database is unavailable, and otherwise the error itself. */
function asUnavailable(error: unknown): never {
  throw isDatabaseAway(error) ? unavailable(error) : error;
}
