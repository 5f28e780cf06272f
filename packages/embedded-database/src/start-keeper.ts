import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DataFolder, logFile } from './data-folder.ts';
import { runAs } from './database-account.ts';
import type { KeeperConfiguration } from './lease-messages.ts';
import { closeLog, openLog } from './log-file.ts';
import { postgresEnvironment } from './postgres-settings.ts';

/** The keeper's program: keeper.ts in the repository; in a packed server keeper.js, a separate file next to the bundle. */
const keeperFile = fileURLToPath(new URL(`./keeper${extname(import.meta.url)}`, import.meta.url));

/**
 * Starts a keeper in its own session, so that neither Ctrl-C nor the end of a terminal reaches it or PostgreSQL. Resolves when the keeper
 * has ended. `hasFailed` is false only if its exit status is 0. A keeper ends at once with status 0 if another keeper is alive.
 */
export function startKeeper(
  folder: DataFolder,
  configuration: Omit<KeeperConfiguration, 'dataDir' | 'account'>,
): Promise<{ hasFailed: boolean }> {
  const log = openLog(logFile(folder.dataDir), folder.keeper);
  const keeperConfiguration: KeeperConfiguration = { dataDir: folder.dataDir, account: folder.account, ...configuration };
  const keeper = spawn(process.execPath, [keeperFile, JSON.stringify(keeperConfiguration)], {
    ...runAs(folder.keeper),
    cwd: '/',
    detached: true,
    env: keeperEnvironment(),
    stdio: ['ignore', log, log],
  });
  closeLog(log);
  keeper.unref();
  return new Promise((resolve) => {
    keeper.once('error', () => resolve({ hasFailed: true }));
    keeper.once('exit', (status) => resolve({ hasFailed: status !== 0 }));
  });
}

/** The caller's Node options (inspectors, loaders, limits) must not apply to the keeper, except the compile cache. */
function keeperEnvironment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE } = process.env;
  return {
    PATH: postgresEnvironment.PATH,
    TMPDIR: tmpdir(),
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
  };
}
