import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DataFolder, logFile } from './data-folder.ts';
import { runAs } from './database-account.ts';
import type { KeeperOrders } from './lease-messages.ts';
import { closeLog, openLog } from './log-file.ts';
import { postgresEnvironment } from './postgres-settings.ts';

/** TypeScript in the repository; beside the bundle, an entry of its own, in what is packed. */
const keeperFile = fileURLToPath(new URL(`./keeper${extname(import.meta.url)}`, import.meta.url));

/**
 * Starts a keeper: in a session of its own, so that neither Ctrl-C nor the end of a terminal reaches it or PostgreSQL. Resolves
 * when it has ended, which it does at once when another keeper lives, with whether it failed.
 */
export function startKeeper(folder: DataFolder, orders: Omit<KeeperOrders, 'dataDir' | 'account'>): Promise<{ failed: boolean }> {
  const log = openLog(logFile(folder.dataDir), folder.keeper);
  const full: KeeperOrders = { dataDir: folder.dataDir, account: folder.account, ...orders };
  const keeper = spawn(process.execPath, [keeperFile, JSON.stringify(full)], {
    ...runAs(folder.keeper),
    cwd: '/',
    detached: true,
    // Nothing of what the caller's Node was told (inspectors, loaders, limits) is meant for the keeper.
    env: { PATH: postgresEnvironment.PATH, TMPDIR: tmpdir() },
    stdio: ['ignore', log, log],
  });
  closeLog(log);
  keeper.unref();
  return new Promise((resolve) => {
    keeper.once('error', () => resolve({ failed: true }));
    keeper.once('exit', (status) => resolve({ failed: status !== 0 }));
  });
}
