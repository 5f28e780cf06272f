import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/** What a build needs. The names of the packages differ between distributions. */
const BUILD_NEEDS =
  'The build needs a C compiler, make, the headers of the server (postgresql-server-dev) and of libcurl, lz4, zstd and krb5, and permission to write to the folders of PostgreSQL.';

/** The number of lines that are shown from the end of a failed step's output. */
const OUTPUT_LINES_MAX = 15;

/**
 * Builds the extension from its sources and installs it into the folders of a PostgreSQL. Takes about two minutes.
 * @param source the folder of the sources, for example a checkout of the branch release-13.0.
 * @param pgConfig the program pg_config of the PostgreSQL.
 * @throws if the folder has no file `configure`, or if a step fails. The error of a failed step contains the end of its output, and what a
 * build needs.
 */
export function buildCitus(source: string, pgConfig: string): void {
  if (!existsSync(join(source, 'configure')))
    throw new Error(`CITUS_SOURCE is ${source}, which has no file "configure". Set it to the folder with the sources of Citus.`);
  process.stderr.write(`Building Citus from ${source} for the PostgreSQL of ${pgConfig} (about two minutes) ...\n`);
  const startedAt = performance.now();
  for (const [command, ...args] of [
    ['./configure', `PG_CONFIG=${pgConfig}`],
    ['make', '-s', `-j${availableParallelism()}`],
    ['make', '-s', 'install'],
  ] as const)
    runStep(source, command, args);
  process.stderr.write(`Installed Citus after ${Math.round((performance.now() - startedAt) / 1000)} s.\n`);
}

function runStep(source: string, command: string, args: readonly string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: source,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return;
  const output = error?.message ?? `${stdout}${stderr}`.trim().split('\n').slice(-OUTPUT_LINES_MAX).join('\n');
  throw new Error(`${[command, ...args].join(' ')} failed in ${source}:\n${output}\n${BUILD_NEEDS}`);
}
