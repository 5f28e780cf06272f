import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const NAME = 'countersign-server';

/**
 * The command that runs the `countersign-server` of this module. In a checkout it is the script in `bin`. In the container image and after
 * `npm install --global`, the command is in the folder of Node and on the PATH. Otherwise npx finds the installed package; `--no` prevents
 * npx from installing another package of this name.
 */
export function commandOf(moduleUrl: string, nodePath: string): string {
  if (moduleUrl.endsWith('.ts')) return `bin/${NAME}`;
  return existsSync(join(dirname(nodePath), NAME)) ? NAME : `npx --no ${NAME}`;
}

/** The command that runs the `countersign-server` of this process. */
export const ownCommand = commandOf(import.meta.url, process.execPath);
