import type { Role } from '@countersign/core/portal/route';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import pg from 'pg';
import { openDatabase } from '../packages/server/src/app/open-database.ts';
import { readConfig } from '../packages/server/src/config/config.ts';
import { newKey } from '../packages/server/test/fixtures/run-command.ts';
import type { DataFolder } from '../packages/server/test/fixtures/server-process.ts';
import { createPerson } from '../packages/server/test/harness/portal-browser.ts';
import type { TestServer } from '../packages/server/test/harness/test-server.ts';

/** A workspace of the server under test. */
export interface Workspace {
  tenantId: string;
  /** An ingestion key with all scopes. */
  key: string;
  /** The cookie of an admin's portal session. */
  cookie: string;
}

/** Queries the database of a folder as superuser, which bypasses row-level security. */
export async function queryFolder<Row extends pg.QueryResultRow>(
  folder: DataFolder,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const embedded = await acquireEmbeddedDatabase({ dataDir: folder.path, notify: () => undefined });
  const client = new pg.Client(embedded.superuser);
  try {
    await client.connect();
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
    await embedded.release();
  }
}

/** Creates a workspace with a key and an admin who is signed in. */
export async function createWorkspace(data: Pick<DataFolder, 'environment'>, url: string, name: string): Promise<Workspace> {
  const { tenantId, key } = await newKey(data.environment, name);
  const [cookie] = await createSessions(data, url, tenantId, 'admin', 1);
  return { tenantId, key, cookie: cookie! };
}

/** Creates people with a role in a workspace, and signs them in. Returns the session cookie of each. */
export async function createSessions(
  data: Pick<DataFolder, 'environment'>,
  url: string,
  tenantId: string,
  role: Role,
  count: number,
): Promise<string[]> {
  const database = await openDatabase(readConfig(data.environment), () => undefined, 'use');
  try {
    const server = { url, open: database } as unknown as TestServer;
    const cookies: string[] = [];
    while (cookies.length < count) cookies.push((await createPerson(server, { [tenantId]: role })).browser.cookie!);
    return cookies;
  } finally {
    await database.close();
  }
}
