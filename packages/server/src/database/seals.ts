import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { headSealInfo, headSealMessage, SEAL_EPOCH, type SealedHead } from '@countersign/core/domain/head-seal';
import type { Pool } from 'pg';

/** Derived keys kept at once; beyond, all are forgotten and derived again. */
const KEYS_MAX = 10_000;

/** Seals what is stored, with keys of the master secret, which is never in the database. */
export class Seals {
  readonly #masterSecret: Uint8Array;
  readonly #keys = new Map<string, KeyObject>();

  constructor(masterSecret: Uint8Array) {
    this.#masterSecret = masterSecret;
  }

  /** The seal of a log's head: the key epoch in one byte, then HMAC-SHA256. 33 bytes. */
  ofHead(head: SealedHead): Buffer {
    const mac = createHmac('sha256', this.#key(headSealInfo(head.tenantId)))
      .update(headSealMessage(head))
      .digest();
    return Buffer.concat([Buffer.of(SEAL_EPOCH), mac]);
  }

  /** Whether a stored seal is that of the head. A missing one is not. */
  holdsHead(head: SealedHead, seal: Uint8Array | null): boolean {
    const expected = this.ofHead(head);
    return seal !== null && seal.length === expected.length && timingSafeEqual(seal, expected);
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

const sealsOfPools = new WeakMap<Pool, Seals>();

/** Gives pools of one database the seals of its master secret. */
export function shareSeals(pools: readonly Pool[], masterSecret: Uint8Array): void {
  const seals = new Seals(masterSecret);
  for (const pool of pools) sealsOfPools.set(pool, seals);
}

/** The seals of a pool's database; undefined where the master secret is not known. */
export const sealsOf = (pool: Pool): Seals | undefined => sealsOfPools.get(pool);
