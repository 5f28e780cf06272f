import type { Browser, Page } from 'playwright-core';
import { afterFile } from '../../server/test/harness/after-file.ts';
import { launchChromium } from './chromium.ts';

/** A browser window. `pageErrors` collects script errors, errors of React and violations of the content security policy. */
export interface Window {
  page: Page;
  pageErrors: string[];
}

let browser: Promise<Browser> | undefined;

/** Opens a window with its own cookies and storage. It closes after the test file. Files that share a process share one Chromium. */
export async function openWindow(options: {
  baseURL: string;
  cookie?: string | undefined;
  width?: number;
  colorScheme?: 'light' | 'dark';
  timezoneId?: string;
}): Promise<Window> {
  browser ??= launchChromium();
  const { baseURL, cookie, width = 1280, colorScheme = 'light', timezoneId } = options;
  const context = await (await browser).newContext({
    baseURL,
    colorScheme,
    ...(timezoneId === undefined ? {} : { timezoneId }),
    viewport: { width, height: 860 },
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  afterFile(() => context.close());
  const [name, value] = cookie?.split('=') ?? [];
  if (name !== undefined && value !== undefined) await context.addCookies([{ name, value, url: baseURL }]);
  const page = await context.newPage();
  const pageErrors: string[] = [];
  page.on('pageerror', (error) => pageErrors.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/Content Security Policy|Minified React error/.test(message.text())) pageErrors.push(message.text());
  });
  return { page, pageErrors };
}
