import type { Client } from 'pg';
import { listCopiedTenants, listMigrations, moveSequence } from '../database/copied-facts.ts';
import {
  analyzeTables,
  type CopiedTable,
  copyTableIn,
  findFilledTable,
  isRowRejection,
  listCopiedTables,
  withoutForcedRowSecurity,
} from '../database/copied-tables.ts';
import { isUnreleased } from '../database/migrate.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { type BackupReader, decompressPart } from './backup-reader.ts';
import { type BackupManifest, type BackupTable, damaged } from './manifest.ts';

/**
 * Requires the migrations of the backup's schema to be the first ones in `known`, and returns their number.
 * @throws ExitError if the backup is of a newer version, of a version before 0.1.0, or of no known version.
 */
export function requireKnownMigrations({ migrations }: BackupManifest, known: readonly string[]): number {
  if (isUnreleased(migrations))
    throw new ExitError(
      'refused',
      'the backup was made by a Countersign before 0.1.0, which cannot be upgraded; restore it with that version',
    );
  const unknown = migrations.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ExitError(
      'schema_newer',
      `the backup was made by a newer Countersign than this one (migration ${unknown}); restore it with that version`,
    );
  if (migrations.length === 0 || migrations.some((name, index) => name !== known[index]))
    throw damaged('no version of Countersign has the migrations that its manifest lists');
  return migrations.length;
}

/** Reads every part and the secrets, and checks their SHA-256, so that a damaged backup is rejected before anything is written. */
export async function checkParts(reader: BackupReader): Promise<void> {
  for (const { parts } of reader.manifest.tables) for (const part of parts) await reader.read(part);
  await reader.secrets();
}

/**
 * Throws ExitError `refused` if a table has rows, or if the tables are of another version than the backup. The role must own the tables.
 */
export async function requireEmpty(client: Client, manifest: BackupManifest): Promise<void> {
  const filledTable = await findFilledTable(client, await listCopiedTables(client));
  if (filledTable !== undefined)
    throw new ExitError(
      'refused',
      `the database is not empty (${filledTable} has rows); restore into an empty database. Nothing was changed`,
    );
  const migrations = await listMigrations(client);
  if (migrations.join() !== manifest.migrations.join())
    throw new ExitError(
      'refused',
      'the database has tables of another version than the backup; restore into a database without the schema countersign',
    );
}

/**
 * Loads all rows in one transaction, and then collects statistics. After an error the caller must close the connection, which ends the
 * transaction.
 * @param client a separate connection, as the role that owns the tables.
 * @param progress is called after each part with the number of loaded rows.
 * @param checkRows is called after all rows are loaded, and before they are committed.
 * @throws ExitError `broken` if a part is damaged, if the tables, columns, rows or workspaces differ from the manifest, or if a table does
 * not accept a row.
 */
export async function restoreRows(
  client: Client,
  reader: BackupReader,
  progress: ((rows: number) => void) | undefined,
  checkRows: () => Promise<void>,
): Promise<void> {
  const { tables, sequences } = reader.manifest;
  const tablesByName = new Map(tables.map((table) => [table.name, table]));
  await client.query('BEGIN');
  let rows = 0;
  for (const table of await listCopiedTables(client)) {
    const source = tablesByName.get(table.name);
    if (source === undefined) throw damaged(`its manifest has no table ${table.name}`);
    requireSameColumns(table, source);
    await withoutForcedRowSecurity(client, table, async () => {
      for (const part of source.parts) {
        const raw = await decompressPart(part, await reader.read(part));
        const copiedRows = await copyTableIn(client, table, raw).catch((error: unknown) => {
          throw rejectedRows(error, table);
        });
        if (copiedRows !== part.rows) throw damaged(`${part.file} has ${copiedRows} rows, but the manifest says ${part.rows}`);
        rows += copiedRows;
        progress?.(rows);
      }
    });
    tablesByName.delete(table.name);
  }
  const [unknown] = tablesByName.keys();
  if (unknown !== undefined) throw damaged(`its manifest has an unknown table ${unknown}`);
  await requireListedWorkspaces(client, reader.manifest);
  await checkRows();
  for (const sequence of sequences) await moveSequence(client, sequence);
  await client.query('COMMIT');
  await analyzeTables(client);
}

/** The error for rows that violate a constraint or the type of a column. Returns any other error unchanged. */
function rejectedRows(error: unknown, { name }: CopiedTable): unknown {
  if (!isRowRejection(error)) return error;
  return new ExitError(
    'broken',
    `the table ${name} does not accept the rows of the backup (${error.message}): the database was changed outside the server before ` +
      'the backup was made. No row was written; restore an older backup',
    { cause: error },
  );
}

/** Requires all restored workspaces to be in the manifest, because only the logs of the workspaces in the manifest are verified. */
async function requireListedWorkspaces(client: Client, { workspaces }: BackupManifest): Promise<void> {
  const listedIds = new Set(workspaces.map(({ id }) => id));
  const unlisted = (await listCopiedTenants(client)).find((id) => !listedIds.has(id));
  if (unlisted !== undefined) throw damaged(`it has rows of workspace ${unlisted}, which its manifest does not list`);
}

/** Requires the same columns in the same order, because binary COPY data contains no column names. */
function requireSameColumns(table: CopiedTable, source: BackupTable): void {
  if (source.columns.join() !== table.columns.join())
    throw damaged(`the columns of ${table.name} in the manifest differ from the columns of the table`);
}
