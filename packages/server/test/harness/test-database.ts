import { randomBytes } from 'node:crypto';
import type { ConnectionSettings } from '@countersign/embedded-database';
import pg from 'pg';
import { inject } from 'vitest';
import { copyCitusDatabase, dropCitusDatabase } from '../../../../scripts/citus/databases.ts';
import { isUnsupportedOnCitus, runOnShards, switchTriggersOfShards } from './citus-shards.ts';

/** A database of a test file. */
export interface TestDatabase {
  /** The settings with which the server connects. */
  server: ConnectionSettings;
  /** The settings with which the owner of the tables connects. */
  owner: ConnectionSettings;
  /** Runs SQL as the superuser, without row-level security: tests use it to read and tamper with stored data. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/** Clones the migrated template. PostgreSQL copies it only while no client is connected to it, so tests never connect to it. */
export const cloneDatabase = (): Promise<TestDatabase> => createDatabase(inject('cluster').owner.database);

/** Creates a database without tables. */
export const emptyDatabase = (): Promise<TestDatabase> =>
  createDatabase(inject('cluster').citus === undefined ? 'template0' : 'countersign_empty');

async function createDatabase(template: string): Promise<TestDatabase> {
  const cluster = inject('cluster');
  const name = `test_${randomBytes(6).toString('hex')}`;
  if (cluster.citus !== undefined) await copyCitusDatabase(cluster.citus, template, name);
  else await runAsSuperuser((client) => client.query(createStatement(name, template)));
  const pool = new pg.Pool({ ...cluster.superuser, database: name, max: 2, ...superuserOptions() });
  pool.on('error', () => undefined);
  return {
    server: { ...cluster.server, database: name },
    owner: { ...cluster.owner, database: name },
    sql: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
      const { citus } = cluster;
      if (citus === undefined) return (await pool.query<Row>(text, values)).rows;
      try {
        const { rows } = await pool.query<Row>(text, values);
        await switchTriggersOfShards(pool, text);
        return rows;
      } catch (error) {
        if (!isUnsupportedOnCitus(error)) throw error;
        return runOnShards<Row>(pool, [citus.coordinator, ...citus.workers], { database: name, text, values });
      }
    },
    drop: async () => {
      await pool.end();
      if (cluster.citus !== undefined) await dropCitusDatabase(cluster.citus, name);
      else await runAsSuperuser((client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}

/**
 * The statement that creates a database. It copies the files of the template. By default, PostgreSQL writes every page of the template to
 * the write-ahead log, which takes three times as much processor time.
 */
const createStatement = (name: string, template: string): string =>
  `CREATE DATABASE ${name} TEMPLATE ${template} OWNER ${inject('cluster').owner.user} STRATEGY file_copy`;

/** Tests disable triggers, which Citus allows for a distributed table only with this setting. */
const superuserOptions = () => (inject('cluster').citus === undefined ? {} : { options: '-c citus.enable_unsafe_triggers=on' });

async function runAsSuperuser<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...inject('cluster').superuser, database: 'postgres' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
