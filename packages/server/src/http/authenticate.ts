import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { KeyScope } from '@countersign/core/contract/scopes';
import { parseIngestionKey, sentKey } from '@countersign/core/domain/ingestion-key';
import type { KnownKey } from '@countersign/core/domain/key-state';
import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { isDatabaseAway } from '../database/pool.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { ApiError, unavailable } from '../errors/api-error.ts';
import type { Principal } from '../ingest/ingest-request.ts';
import { believedKey } from '../ledger/key-states.ts';
import { findKeys, type KeyRecord, touchKey } from '../storage/ingestion-keys.ts';

/** A secret that no key has: an unknown prefix is compared against it, and costs the same work as a known one. */
const NO_SECRET = Buffer.alloc(32);

/** Resolves keys to principals. A key's row is looked up for every request, and believed where it is what the key audit trail says. */
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
    const isSame = timingSafeEqual(hash('sha256', key.secret, 'buffer'), record?.secretSha256 ?? NO_SECRET);
    const looking = record === undefined || !isSame ? undefined : believedKey(this.#pool, record);
    const known = looking instanceof Promise ? await looking.catch(asUnavailable) : looking;
    if (record === undefined || known === undefined || known.kind !== key.kind || this.#isOver(known)) throw unauthorized();
    this.#noteUse(record);
    const scopes = known.scopes as KeyScope[];
    if (!scopes.includes(scope)) throw insufficientScope(scope);
    return { tenantId: record.tenantId, keyId: record.keyId, prefix: record.prefix, scopes };
  }

  /** Whether a key is revoked, or past its expiry. A clock that jumped expires nothing, and revives nothing that has expired. */
  #isOver({ isRevoked, expiresAt }: KnownKey): boolean {
    return isRevoked || (expiresAt !== null && Date.parse(expiresAt) <= clockOf(this.#pool).now().getTime());
  }

  /** Last use, at most once a minute, beside the request and not before it: a failure here belongs to no request. */
  #noteUse({ tenantId, keyId }: KeyRecord): void {
    const now = performance.now();
    if (now - (this.#lastNoted.get(keyId) ?? -Infinity) < 60_000) return;
    if (this.#lastNoted.size >= 10_000) this.#lastNoted.clear();
    if (clockOf(this.#pool).fault() !== undefined) return;
    this.#lastNoted.set(keyId, now);
    inTenantTransaction(this.#pool, tenantId, (tx) => touchKey(tx, keyId)).catch(() => this.#lastNoted.delete(keyId));
  }
}

/** One challenge for all: it says neither whether the prefix exists nor what was wrong. */
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

/** The keys that one statement looks up. */
interface Lookup {
  prefixes: Set<string>;
  found: Promise<ReadonlyMap<string, KeyRecord>>;
}

/** Looks keys up in the database for every request: those of one turn of the event loop travel in one statement. */
class KeyLookups {
  readonly #pool: Pool;
  #next: Lookup | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The key of a prefix as the database has it after this call began. */
  async find(prefix: string): Promise<KeyRecord | undefined> {
    this.#next ??= this.#prepare();
    this.#next.prefixes.add(prefix);
    return (await this.#next.found).get(prefix);
  }

  #prepare(): Lookup {
    const prefixes = new Set<string>();
    const endOfTurn = new Promise<void>((resolve) => setImmediate(resolve));
    const found = endOfTurn.then(() => {
      this.#next = undefined; // whoever comes from now on must not be answered with what was read before
      return this.#read(prefixes);
    });
    return { prefixes, found };
  }

  async #read(prefixes: ReadonlySet<string>): Promise<ReadonlyMap<string, KeyRecord>> {
    try {
      return new Map((await findKeys(this.#pool, [...prefixes])).map((key) => [key.prefix, key]));
    } catch (error) {
      return asUnavailable(error);
    }
  }
}

/** Throws what a request is told when the database does not answer. */
function asUnavailable(error: unknown): never {
  throw isDatabaseAway(error) ? unavailable(error) : error;
}
