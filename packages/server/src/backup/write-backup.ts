import { toBase64 } from '@countersign/core/domain/signed-note';
import type { Client } from 'pg';
import { sha256 } from '../crypto/digests.ts';
import {
  findCopiedInstance,
  listCopiedTenants,
  listHeads,
  listLiveSigningKeys,
  listMigrations,
  listMissingTenants,
  listSequences,
} from '../database/copied-facts.ts';
import { type CopiedTable, copyTableOut, listCopiedTables } from '../database/copied-tables.ts';
import { isPartOfSchema } from '../database/schema-findings.ts';
import { openFrontier } from '../ledger/log-tree.ts';
import type { BackupWriter } from './backup-writer.ts';
import { type BackupManifest, type BackupTable, type BackupWorkspace, MANIFEST_FILE, SECRETS_FILE } from './manifest.ts';
import { findDanglingRows } from './restore-faults.ts';
import { TableParts } from './table-parts.ts';

/** The parameters of a backup. */
export interface BackupParameters {
  /** The time of the backup, in ISO 8601. */
  madeAt: string;
  /** Version of the command. */
  madeBy: string;
  /** Returns the encrypted secrets of the instance with this ID; undefined to leave them out. */
  encryptSecrets: ((instanceId: string) => Uint8Array) | undefined;
  /** Called with the number of rows copied so far, whenever a part of a table is full. */
  progress: ((rows: number) => void) | undefined;
  /** Called with one line for each reason why a restore would fail, or would lack rows. */
  onRestoreFault?: (fault: string) => void;
  /** Called after the rows were read. Until it resolves, nobody can change the definition of a table from which rows were read. */
  whileLocked?: () => Promise<void>;
}

/**
 * Copies the tables that the migrations create, with the rows that were committed when the backup began. Leaves out other tables, columns
 * and sequences, because a restore could not load them. The manifest is written last.
 * @param client a separate connection, as a role that may read the tables.
 */
export async function writeBackup(client: Client, writer: BackupWriter, parameters: BackupParameters): Promise<BackupManifest> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const instance = await findCopiedInstance(client);
  if (instance === undefined) throw new Error('the row in the table instance is missing');
  const tenants = await listCopiedTenants(client);
  for (const id of await listMissingTenants(client)) parameters.onRestoreFault?.(missingTenant(id));
  const tables = await copyTables(client, writer, tenants, parameters.progress);
  const workspaces: BackupWorkspace[] = [];
  for (const id of tenants) workspaces.push({ id, logs: await headsOf(client, id) });
  const manifest: BackupManifest = {
    format: 'countersign-backup',
    version: 1,
    madeAt: parameters.madeAt,
    madeBy: parameters.madeBy,
    migrations: await listMigrations(client),
    instance: { id: instance.id, masterFingerprint: instance.master, liveSigningKeys: await listLiveSigningKeys(client) },
    tables,
    sequences: (await listSequences(client)).filter(({ name }) => isPartOfSchema('sequence', name)),
    workspaces,
  };
  await parameters.whileLocked?.();
  for (const fault of await findDanglingRows(client, tenants)) parameters.onRestoreFault?.(fault);
  await client.query('COMMIT');
  const encryptedSecrets = parameters.encryptSecrets?.(instance.id);
  if (encryptedSecrets !== undefined) {
    await writer.add(SECRETS_FILE, encryptedSecrets);
    manifest.secretsSha256 = Buffer.from(sha256(encryptedSecrets)).toString('hex');
  }
  await writer.add(MANIFEST_FILE, Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`));
  await writer.finish();
  return manifest;
}

const missingTenant = (id: string): string =>
  `the row of tenants with the ID ${id} is missing: the records of this workspace are not in the backup; put the row back`;

async function copyTables(
  client: Client,
  writer: BackupWriter,
  tenants: readonly string[],
  progress: BackupParameters['progress'],
): Promise<BackupTable[]> {
  const tables = (await listCopiedTables(client)).filter(({ name }) => isPartOfSchema('table', name));
  const copiedTables: BackupTable[] = [];
  let rowsBefore = 0;
  for (const table of tables.map(omitAddedColumns)) {
    const parts = new TableParts(table.name, writer);
    const onRows = () => progress?.(rowsBefore + parts.rows);
    for (const tenantId of table.isByTenant ? tenants : [undefined]) await copyRows(client, table, tenantId, parts, onRows);
    await parts.end();
    rowsBefore += parts.rows;
    copiedTables.push({ name: table.name, columns: table.columns, rows: parts.rows, parts: parts.parts });
  }
  return copiedTables;
}

const omitAddedColumns = (table: CopiedTable): CopiedTable => ({
  ...table,
  columns: table.columns.filter((column) => isPartOfSchema('column', `${table.name}.${column}`)),
});

async function copyRows(
  client: Client,
  table: CopiedTable,
  tenantId: string | undefined,
  parts: TableParts,
  onRows: () => void,
): Promise<void> {
  const rowsBefore = parts.rows;
  let isFirst = true;
  const rows = await copyTableOut(client, table, tenantId, (message) => {
    const writing = parts.add(message, isFirst);
    isFirst = false;
    if (writing !== undefined) onRows();
    return writing;
  });
  if (parts.rows - rowsBefore !== rows)
    throw new Error(`COPY of ${table.name} sent ${parts.rows - rowsBefore} rows, but reported ${rows}`);
}

/** The heads of a workspace's logs. A log with a damaged tree is omitted; the verification of the logs reports it. */
async function headsOf(client: Client, tenantId: string): Promise<BackupWorkspace['logs']> {
  const logs: BackupWorkspace['logs'] = {};
  for (const { log, size, frontier } of await listHeads(client, tenantId)) {
    try {
      logs[log] = { size, root: toBase64(openFrontier({ size, frontier }).root()) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return logs;
}
