import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The names of the programs of Chromium and Chrome. The headless shell is first, because it needs less processor time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The path of Chromium: CHROMIUM_PATH, or the first of NAMES on the PATH. Throws if there is none. */
export function chromiumPath(environment: NodeJS.ProcessEnv = process.env): string {
  const folders = (environment.PATH ?? '').split(delimiter);
  const candidates = [environment.CHROMIUM_PATH, ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))];
  const found = candidates.find((path) => path !== undefined && isProgram(path));
  if (found !== undefined) return found;
  throw new Error(
    'The tests of the portal need Chromium. Run `apt-get install chromium` (Debian), or install Chromium or Chrome and set CHROMIUM_PATH.',
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * V8's optimizing compilers cost more than they save on pages that are open for only a few seconds. A larger heap needs fewer garbage
 * collections.
 */
const V8_FLAGS = '--no-opt --no-maglev --initial-old-generation-size=128 --min-semi-space-size=16';

/** Starts Chromium without its background requests. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', `--js-flags=${V8_FLAGS}`],
  });
