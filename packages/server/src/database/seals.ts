import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { headSealInfo, headSealMessage, SEAL_EPOCH, type SealedHead } from '@countersign/core/domain/head-seal';
import { rowSealInfo, rowSealMessage } from '@countersign/core/domain/row-seal';
import type { Pool } from 'pg';
import { BrokenSeals } from './broken-seals.ts';
import { type RawRow, rawName, type SealedTable, sealedValues } from './sealed-table.ts';

/** The largest number of cached keys. Above it, all are dropped and derived again. */
const KEYS_MAX = 10_000;
/** The largest number of logs whose last seal is cached. Above it, all are dropped and computed again. */
const LAST_SEALS_MAX = 10_000;

/** Seals stored data, and verifies seals, with keys derived from the master secret. That secret is never in the database. */
export class Seals {
  readonly #masterSecret: Uint8Array;
  readonly #keys = new Map<string, KeyObject>();
  /** By tenant and log: the last message for which this process computed a seal, with that seal. */
  readonly #lastSeals = new Map<string, { message: Uint8Array; seal: Buffer }>();
  /** The rows that are not valid or are missing: see BrokenSeal. */
  readonly broken = new BrokenSeals();

  constructor(masterSecret: Uint8Array) {
    this.#masterSecret = masterSecret;
  }

  /** The seal of a log's head: the key epoch in one byte, then HMAC-SHA256. 33 bytes. */
  ofHead(head: SealedHead): Buffer {
    const message = headSealMessage(head);
    const log = `${head.tenantId} ${head.log}`;
    const last = this.#lastSeals.get(log);
    // A batch usually reads the head that the previous batch of this process sealed.
    if (last !== undefined && Buffer.compare(last.message, message) === 0) return last.seal;
    const seal = this.#seal(headSealInfo(head.tenantId), message);
    if (this.#lastSeals.size >= LAST_SEALS_MAX) this.#lastSeals.clear();
    this.#lastSeals.set(log, { message, seal });
    return seal;
  }

  /** Whether `seal` is the seal of the head. False for null. */
  matchesHead(head: SealedHead, seal: Uint8Array | null): boolean {
    return isSame(this.ofHead(head), seal);
  }

  /** The seal of a row. @param tenantId empty for tables without a tenant. */
  ofRow<R>(table: SealedTable<R>, tenantId: string, row: R): Buffer {
    const sealed = { table: table.name, tenantId, version: table.version, values: sealedValues(table, row) };
    return this.#seal(rowSealInfo(table.name, tenantId), rowSealMessage(sealed));
  }

  /**
   * Returns a row that was read with `sealedColumns`, if its seal is valid. Otherwise reports the row and returns undefined.
   * @param expected the fields by which the query selected the row. They replace the values from the database, so that the seal of another
   * row is not accepted.
   */
  openRow<R>(table: SealedTable<R>, tenantId: string, raw: RawRow, expected?: Partial<R>): R | undefined {
    const row = {} as R;
    for (const { field } of table.columns) row[field] = raw[rawName(table, field)] as R[typeof field];
    const verified = expected === undefined ? row : { ...row, ...expected };
    const seal = raw[rawName(table, 'seal')];
    const isSealed = seal instanceof Uint8Array && sealedValues(table, verified).every(isSealable);
    if (isSealed && isSame(this.ofRow(table, tenantId, verified), seal)) return verified;
    const key = Object.fromEntries(table.identifyingFields.map((field) => [field, String(row[field])]));
    this.broken.report({ table: table.name, tenantId: tenantId === '' ? undefined : tenantId, key });
    return undefined;
  }

  #seal(info: string, message: Uint8Array): Buffer {
    const mac = createHmac('sha256', this.#key(info)).update(message).digest();
    return Buffer.concat([Buffer.of(SEAL_EPOCH), mac]);
  }

  #key(info: string): KeyObject {
    let key = this.#keys.get(info);
    if (key === undefined) {
      if (this.#keys.size >= KEYS_MAX) this.#keys.clear();
      key = createSecretKey(new Uint8Array(hkdfSync('sha256', this.#masterSecret, '', info, 32)));
      this.#keys.set(info, key);
    }
    return key;
  }
}

/** Whether a value has a type that can be sealed. An attacker may replace a table by a view that returns values of other types. */
const isSealable = (value: unknown): boolean => value === null || typeof value === 'string' || value instanceof Uint8Array;

const isSame = (expected: Uint8Array, seal: Uint8Array | null): boolean =>
  seal !== null && seal.length === expected.length && timingSafeEqual(seal, expected);

const sealsOfPools = new WeakMap<Pool, Seals>();

/** Gives the pools of one database the seals of its master secret. */
export function shareSeals(pools: readonly Pool[], masterSecret: Uint8Array): void {
  const seals = new Seals(masterSecret);
  for (const pool of pools) sealsOfPools.set(pool, seals);
}

/**
 * Gives a pool the seals of another pool of the same database, and with them the heads that this process remembers
 * (ledger/head-memory.ts). Throws if the other pool has no seals.
 */
export const useSealsOf = (pool: Pool, other: Pool): void => void sealsOfPools.set(pool, requireSeals(other));

/** The seals of a pool's database; undefined if the master secret is unknown. */
export const sealsOf = (pool: Pool): Seals | undefined => sealsOfPools.get(pool);

/** The seals of a pool's database. Throws if the pool was opened without the master secret. */
export const requireSeals = (pool: Pool): Seals => requireDefined(sealsOf(pool));

/** Returns `seals`. Throws if they are undefined, because the pool was opened without the master secret. */
export function requireDefined(seals: Seals | undefined): Seals {
  if (seals === undefined) throw new Error('this pool was opened without the master secret: nothing can be sealed or verified');
  return seals;
}
