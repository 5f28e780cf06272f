import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildCitus } from './build-citus.ts';

/** The programs of a PostgreSQL that has the extension Citus. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** What to do where there is no Citus. */
export const CITUS_REMEDY =
  'Install PostgreSQL with Citus and name its pg_config in PG_CONFIG. Or name a folder with the sources of Citus in CITUS_SOURCE, which is then built and installed. Or name the nodes in CITUS_NODES: the URLs of the superuser, coordinator first, separated by commas.';

/**
 * Finds the PostgreSQL of PG_CONFIG, or of the command path. If it has no Citus, builds that of CITUS_SOURCE, or throws an error with the
 * remedy.
 */
export function postgresWithCitus(
  pgConfig = process.env.PG_CONFIG ?? 'pg_config',
  source = process.env.CITUS_SOURCE,
): PostgresPrograms {
  const { status, stdout } = spawnSync(pgConfig, ['--bindir', '--sharedir', '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${pgConfig} cannot be run. ${CITUS_REMEDY}`);
  const [bin = '', share = '', version = ''] = stdout.trim().split('\n');
  const hasCitus = () => existsSync(join(share, 'extension/citus.control'));
  if (!hasCitus() && source !== undefined) buildCitus(source, pgConfig);
  if (!hasCitus()) throw new Error(`${version} in ${bin} has no Citus. ${CITUS_REMEDY}`);
  const programs = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  for (const program of Object.values(programs))
    if (!existsSync(program)) throw new Error(`${program} is missing: install the server of ${version}.`);
  return programs;
}
