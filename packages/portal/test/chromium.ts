import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll } from 'vitest';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The Chromium of this machine: CHROMIUM_PATH, or the first of the usual names on the PATH. */
export function chromiumPath(environment: NodeJS.ProcessEnv = process.env): string {
  const folders = (environment.PATH ?? '').split(delimiter);
  const candidates = [environment.CHROMIUM_PATH, ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))];
  const found = candidates.find((path) => path !== undefined && isProgram(path));
  if (found !== undefined) return found;
  throw new Error(
    'The tests of the portal need Chromium. Debian: `apt-get install chromium`; else install Chromium or Chrome, and name it in CHROMIUM_PATH.',
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

/** Starts Chromium, without what it would fetch by itself. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });

/** A person's browser window, and what went wrong in it unseen: faults of scripts, and what the pages' policy refused. */
export interface Window {
  page: Page;
  faults: string[];
}

let browser: Promise<Browser> | undefined;

/** Opens a window of its own: no cookie and no storage of another one. One Chromium serves a test file. */
export async function openWindow(options: {
  baseURL: string;
  cookie?: string | undefined;
  width?: number;
  colorScheme?: 'light' | 'dark';
}): Promise<Window> {
  if (browser === undefined) {
    browser = launchChromium();
    afterAll(async () => (await browser)?.close());
  }
  const { baseURL, cookie, width = 1280, colorScheme = 'light' } = options;
  const context = await (await browser).newContext({
    baseURL,
    colorScheme,
    viewport: { width, height: 860 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const [name, value] = cookie?.split('=') ?? [];
  if (name !== undefined && value !== undefined) await context.addCookies([{ name, value, url: baseURL }]);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`fault: ${error.message}`));
  page.on('console', (message) => {
    if (/Content Security Policy|Minified React error/.test(message.text())) faults.push(message.text());
  });
  return { page, faults };
}
