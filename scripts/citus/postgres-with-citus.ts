import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildCitus } from './build-citus.ts';

/** The programs of a PostgreSQL that has the extension Citus. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

const NODES_REMEDY = 'Or set CITUS_NODES to superuser URLs of running nodes, separated by commas, coordinator first.';

/** What to do if there is no PostgreSQL. */
const POSTGRES_REMEDY = `Set PG_CONFIG to the pg_config of an installed PostgreSQL. ${NODES_REMEDY}`;

/** What to do if the PostgreSQL has no Citus. */
const CITUS_REMEDY =
  'Install Citus into it, or set PG_CONFIG to the pg_config of a PostgreSQL with Citus. ' +
  `Or set CITUS_SOURCE to the folder with the sources of Citus, which are then built and installed. ${NODES_REMEDY}`;

/**
 * Finds the PostgreSQL of PG_CONFIG, or else of the pg_config on the PATH. If it has no Citus and CITUS_SOURCE is set, builds and installs
 * Citus from the folder CITUS_SOURCE. Throws the error of buildCitus if the build fails. Throws an error with the remedy if pg_config
 * cannot be run, if the server is missing, or if there is no Citus.
 */
export function postgresWithCitus(): PostgresPrograms {
  const { PG_CONFIG: pgConfig = 'pg_config', CITUS_SOURCE: source } = process.env;
  const { status, stdout } = spawnSync(pgConfig, ['--bindir', '--sharedir', '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${pgConfig} cannot be run. ${POSTGRES_REMEDY}`);
  const [bin = '', share = '', version = ''] = stdout.trim().split('\n');
  const hasCitus = () => existsSync(join(share, 'extension/citus.control'));
  if (!hasCitus() && source !== undefined) buildCitus(source, pgConfig);
  if (!hasCitus()) throw new Error(`${version} in ${bin} has no Citus. ${CITUS_REMEDY}`);
  const programs = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  for (const program of Object.values(programs))
    if (!existsSync(program)) throw new Error(`${program} is missing: install the server of ${version}.`);
  return programs;
}
