import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The programs of a PostgreSQL that has the extension Citus. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** What to do where there is no Citus. */
export const CITUS_REMEDY =
  'Install PostgreSQL with Citus and name its pg_config in PG_CONFIG, or name the nodes in CITUS_NODES: the URLs of the superuser, coordinator first, separated by commas.';

/** Finds the PostgreSQL of PG_CONFIG, or of the command path, and throws an error with the remedy if it has no Citus. */
export function postgresWithCitus(pgConfig = process.env.PG_CONFIG ?? 'pg_config'): PostgresPrograms {
  const { status, stdout } = spawnSync(pgConfig, ['--bindir', '--sharedir', '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${pgConfig} cannot be run. ${CITUS_REMEDY}`);
  const [bin = '', share = '', version = ''] = stdout.trim().split('\n');
  if (!existsSync(join(share, 'extension/citus.control'))) throw new Error(`${version} in ${bin} has no Citus. ${CITUS_REMEDY}`);
  const programs = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  for (const program of Object.values(programs))
    if (!existsSync(program)) throw new Error(`${program} is missing: install the server of ${version}.`);
  return programs;
}
