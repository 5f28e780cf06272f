/**
 * `npm run test:citus` runs the tests of the server on a Citus cluster, and prints how long they took. It uses the cluster
 * of CITUS_NODES, or else starts a coordinator and two workers. With test files as arguments, it runs only these files.
 * docs/scaling.md says how the command finds Citus.
 */
import { runVitest } from '../run-vitest.ts';
import { nodesByAddress } from './nodes.ts';
import { postgresWithCitus } from './postgres-with-citus.ts';
import { SKIPPED_ON_CITUS } from './tests.ts';

// Fails early, with a remedy, if there is no Citus.
try {
  if (process.env.CITUS_NODES === undefined) postgresWithCitus();
  else nodesByAddress(process.env.CITUS_NODES);
} catch (error) {
  process.stderr.write(`npm run test:citus: ${(error as Error).message}\n`);
  process.exit(1);
}

const startedAt = performance.now();
const { status, counts } = await runVitest(['--config', 'vitest.citus.config.ts', ...process.argv.slice(2)]);
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write('Skipped on Citus:\n');
for (const { files, test, reason } of SKIPPED_ON_CITUS) process.stdout.write(`  ${files ?? test}: ${reason}\n`);
process.stdout.write(`${Math.floor(seconds / 60)} min ${seconds % 60} s on Citus\n`);
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
process.exitCode = counts.failed > 0 || status !== 0 ? 1 : 0;
