import type { Pool } from 'pg';
import { type Clock, shareClock } from './clock.ts';
import { type DatabaseAddress, type FairPool, openFairPool, openPool } from './pool.ts';
import { shareSeals } from './seals.ts';

/** The connections of a process, parted so that what takes long never stands before what must be quick. */
export interface Pools {
  /** For writing, one batch a connection. */
  pool: Pool;
  /** For looking up keys, and whether the database is there: every request with a key waits for that, so nothing long may. */
  lookupPool: Pool;
  /** For looking up who asks in the portal, shared fairly between tenants: people who ask often make no sender wait. */
  sessionPool: FairPool;
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
    sessionPool: openFairPool(address, { size: 3, name: 'session' }),
    readPool: openFairPool(address, { size: 4, name: 'read' }),
    ledgerPool: openFairPool(address, { size: 3, name: 'ledger' }),
  };
  return { ...pools, clock: shareClock(Object.values(pools)) };
};

/** Gives the pools the master secret, by which what is stored is sealed and believed. */
export const sealWith = (pools: Pools, masterSecret: Uint8Array): void => shareSeals(poolsOf(pools), masterSecret);

const poolsOf = ({ pool, lookupPool, sessionPool, readPool, ledgerPool }: Pools): Pool[] => [
  pool,
  lookupPool,
  sessionPool,
  readPool,
  ledgerPool,
];

/** Ends them, whatever state they are in. */
export async function closePools(pools: Pools): Promise<void> {
  await Promise.allSettled(poolsOf(pools).map((each) => each.end()));
}
