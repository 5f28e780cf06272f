import pg from 'pg';
import { type DatabaseAddress, driverAddress } from './driver-address.ts';
import { NO_TRANSACTION_TIMEOUT, STATEMENT_SETTINGS } from './statement-settings.ts';

/** Overrides the timeouts of the role, because a migration, backup or restore may take long. */
const NO_TIMEOUTS = `SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; ${NO_TRANSACTION_TIMEOUT}`;

/** Connects a client without a pool, for work that needs one connection. The caller ends the client. */
export async function connectClient(address: DatabaseAddress, name: string): Promise<pg.Client> {
  const client = new pg.Client({ ...driverAddress(address), application_name: `countersign-${name}` });
  client.on('error', () => undefined); // The current statement fails with the same error.
  try {
    await client.connect();
    await client.query(`${STATEMENT_SETTINGS}; ${NO_TIMEOUTS}`);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}
