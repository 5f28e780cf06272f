import type { Pool } from 'pg';
import { type Clock, shareClock } from './clock.ts';
import { type DatabaseAddress, type FairPool, openFairPool, openPool } from './pool.ts';
import { shareSeals } from './seals.ts';

/** The connections of a process, parted so that what takes long never stands before what must be quick. */
export interface Pools {
  /** For writing, one batch a connection. */
  pool: Pool;
  /** For looking up who asks, keys and sessions, and whether the database is there: every request waits for that, so nothing long may. */
  lookupPool: Pool;
  /** For the portal's lists and pages, shared fairly between tenants. */
  readPool: FairPool;
  /** For exports and proofs of the record, for its checkpoints, and for what is swept up now and then. Shared fairly too. */
  ledgerPool: FairPool;
  /** The clocks of this process and of the database that the pools connect to. */
  clock: Clock;
}

/**
 * Opens the pools; they connect when they are first used.
 * @param writers most connections for writing.
 */
export const openPools = (address: DatabaseAddress, writers: number): Pools => {
  const pools = {
    pool: openPool(address, { size: writers, name: 'write' }),
    lookupPool: openPool(address, { size: 2, name: 'lookup' }),
    readPool: openFairPool(address, { size: 4, name: 'read' }),
    ledgerPool: openFairPool(address, { size: 3, name: 'ledger' }),
  };
  return { ...pools, clock: shareClock(Object.values(pools)) };
};

/** Gives the pools the master secret, by which what is stored is sealed and believed. */
export const sealWith = ({ pool, lookupPool, readPool, ledgerPool }: Pools, masterSecret: Uint8Array): void =>
  shareSeals([pool, lookupPool, readPool, ledgerPool], masterSecret);

/** Ends them, whatever state they are in. */
export async function closePools({ pool, lookupPool, readPool, ledgerPool }: Pools): Promise<void> {
  await Promise.allSettled([pool, lookupPool, readPool, ledgerPool].map((each) => each.end()));
}
