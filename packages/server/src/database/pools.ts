import type { Pool } from 'pg';
import type { NodePools } from './citus-node.ts';
import { type Clock, shareClock, useClockOf } from './clock.ts';
import type { DatabaseAddress } from './driver-address.ts';
import { type FairPool, openFairPool, openPool, openShardPool } from './pool.ts';
import { shareSeals, useSealsOf } from './seals.ts';

/** The maximum numbers of connections in the pools of a server. The number for writing is configured. */
const LOOKUP_CONNECTIONS = 2;
const SESSION_CONNECTIONS = 3;
const READ_CONNECTIONS = 4;
const LEDGER_CONNECTIONS = 3;

/**
 * The pool for key lookups on a node. Its connections are replaced after a minute, because after a failover behind the same address, an old
 * connection still reaches the old primary.
 */
const NODE_LOOKUP = { size: LOOKUP_CONNECTIONS, name: 'node-lookup', connectTimeoutMs: 2_000, lifetimeSeconds: 60 };

/** The connections of a process, separated by purpose, so that slow work does not delay fast work. */
export interface Pools {
  /** For writing, one batch per connection. */
  pool: Pool;
  /** For looking up keys, and for short checks such as readiness. Nothing slow may use it, because the requests with a key wait for it. */
  lookupPool: Pool;
  /** For the sessions of the portal, so that frequent users do not delay senders. Shared fairly between people. */
  sessionPool: FairPool;
  /** For the portal's lists and pages, shared fairly between tenants. */
  readPool: FairPool;
  /** For exports, proofs and checkpoints of the logs, and for maintenance. Shared fairly between tenants. */
  ledgerPool: FairPool;
  /** The clocks of this process and of the database that the pools connect to. */
  clock: Clock;
}

/** Opens pools for an address. They connect when they are first used. @param writers the maximum number of connections for writing. */
export type OpenPools = (address: DatabaseAddress, writers: number) => Pools;

/** Opens the pools of a server. */
export const openPools: OpenPools = (address, writers) =>
  withClock({
    pool: openPool(address, { size: writers, name: 'write' }),
    lookupPool: openPool(address, { size: LOOKUP_CONNECTIONS, name: 'lookup' }),
    sessionPool: openFairPool(address, { size: SESSION_CONNECTIONS, name: 'session' }),
    readPool: openFairPool(address, { size: READ_CONNECTIONS, name: 'read' }),
    ledgerPool: openFairPool(address, { size: LEDGER_CONNECTIONS, name: 'ledger' }),
  });

/**
 * Opens one pool for all purposes of a command. A command has no slow and fast work at the same time, so it usually connects only once. The
 * pool may open as many connections as the pools of a server together, so that work which needs two connections at once gets both.
 */
export const openCommandPool: OpenPools = (address, writers) => {
  const size = writers + LOOKUP_CONNECTIONS + SESSION_CONNECTIONS + READ_CONNECTIONS + LEDGER_CONNECTIONS;
  const pool = openFairPool(address, { size, name: 'command' });
  return withClock({ pool, lookupPool: pool, sessionPool: pool, readPool: pool, ledgerPool: pool });
};

const withClock = (pools: Omit<Pools, 'clock'>): Pools => ({ ...pools, clock: shareClock(Object.values(pools)) });

/** Runs `work` on one connection as the role that `owner` names (see OpenDatabase). If that role owns the tables, it may delete runs. */
export async function runAsOwner<T>(
  database: Pick<Pools, 'ledgerPool'> & { owner: DatabaseAddress },
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = openRolePool(database.owner, database, 'owner');
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/**
 * Opens a pool of one connection as another role, to the same database as these pools, with their clock and seals. The caller ends the
 * pool. Throws if these pools have no seals.
 */
export function openRolePool(address: DatabaseAddress, { ledgerPool }: Pick<Pools, 'ledgerPool'>, name: string): Pool {
  const pool = openPool(address, { size: 1, name });
  useClockOf(pool, ledgerPool);
  useSealsOf(pool, ledgerPool);
  return pool;
}

/**
 * Opens the pools for a node of Citus: one for writing, and one for looking up keys. The first one gets the clock and the seals of the
 * given pools. The caller ends the new pools. Throws if the given pools have no seals.
 * @param writers the maximum number of connections for writing.
 */
export function openNodePools(address: DatabaseAddress, { pool }: Pick<Pools, 'pool'>, writers: number): NodePools {
  const write = openShardPool(address, { size: writers, name: 'node' });
  useClockOf(write, pool);
  useSealsOf(write, pool);
  return { write, lookup: openShardPool(address, NODE_LOOKUP) };
}

/** Gives the pools the master secret, with which stored data is sealed and verified. */
export const setMasterSecret = (pools: Pools, masterSecret: Uint8Array): void => shareSeals(poolsOf(pools), masterSecret);

/** Each pool once. A command has one pool for all purposes. */
const poolsOf = ({ pool, lookupPool, sessionPool, readPool, ledgerPool }: Pools): Pool[] => [
  ...new Set([pool, lookupPool, sessionPool, readPool, ledgerPool]),
];

/** Closes the pools, whatever their state is. */
export async function closePools(pools: Pools): Promise<void> {
  await Promise.allSettled(poolsOf(pools).map((each) => each.end()));
}
