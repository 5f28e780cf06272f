import type { Browser, Page } from 'playwright-core';
import { onTestFinished, TestRunner } from 'vitest';
import { afterFile } from '../../server/test/harness/after-file.ts';
import { launchChromium } from './chromium.ts';

/** A browser window. `pageErrors` collects script errors, errors of React and violations of the content security policy. */
export interface Window {
  page: Page;
  pageErrors: string[];
}

interface WindowOptions {
  baseURL: string;
  cookie?: string | undefined;
  width?: number;
  colorScheme?: 'light' | 'dark';
  timezoneId?: string;
  /** Whether the browser's data saver is on, so that the portal does not preload pages. The default is true, which saves processor time. */
  isDataSaverOn?: boolean;
}

let browser: Promise<Browser> | undefined;

/** Windows of finished tests, by server, time zone and data saving. Their caches have the portal's code, so pages load faster. */
const unusedWindows = new Map<string, Page[]>();

/** The URLs of servers that later test files start again. Windows of other servers are closed at the end of the file. */
const keptURLs = new Set<string>();

/** Keeps the windows of a server for later test files, whose server must have the same URL. */
export function keepWindowsOf(baseURL: string): void {
  keptURLs.add(baseURL);
}

/** The events of a page that tests listen to. */
const EVENTS = ['pageerror', 'console', 'dialog', 'request', 'requestfinished'] as const;

/**
 * Opens a window with its own cookies and storage. If an earlier test used the window, only the cache of that test is left. Files
 * that share a process share one Chromium.
 */
export async function openWindow(options: WindowOptions): Promise<Window> {
  const { baseURL, cookie, width = 1280, colorScheme = 'light', timezoneId = '', isDataSaverOn = true } = options;
  const key = `${baseURL} ${timezoneId} ${isDataSaverOn}`;
  const page = unusedWindows.get(key)?.pop() ?? (await newPage(baseURL, timezoneId, isDataSaverOn));
  // A window that a hook opens is for all tests of the file.
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => reset(page, key));
  else afterFile(() => (keptURLs.has(baseURL) ? reset(page, key) : undefined));
  await page.setViewportSize({ width, height: 860 });
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  const [name, value] = cookie?.split('=') ?? [];
  if (name !== undefined && value !== undefined) await page.context().addCookies([{ name, value, url: baseURL }]);
  const pageErrors: string[] = [];
  page.on('pageerror', (error) => pageErrors.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/Content Security Policy|Minified React error/.test(message.text())) pageErrors.push(message.text());
  });
  return { page, pageErrors };
}

async function newPage(baseURL: string, timezoneId: string, isDataSaverOn: boolean): Promise<Page> {
  browser ??= launchChromium();
  const context = await (await browser).newContext({
    baseURL,
    ...(timezoneId === '' ? {} : { timezoneId }),
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  afterFile(async () => {
    if (keptURLs.has(baseURL)) return;
    unusedWindows.delete(`${baseURL} ${timezoneId} ${isDataSaverOn}`);
    await context.close();
  });
  const page = await context.newPage();
  // This session stays open, because closing it would end the emulation.
  const devTools = await context.newCDPSession(page);
  await devTools.send('Emulation.setDataSaverOverride', { dataSaverEnabled: isDataSaverOn });
  return page;
}

/**
 * Removes everything that a test left in a window, except the cache, and keeps the window for the next test. The window then shows an empty
 * page of the same origin, which needs no server. After `about:blank`, Chromium would start a new process for the next visit.
 */
async function reset(page: Page, key: string): Promise<void> {
  const context = page.context();
  const origin = key.split(' ')[0]!;
  const emptyPage = `${origin}/empty-page`;
  for (const event of EVENTS) page.removeAllListeners(event);
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll();
  await context.unrouteAll();
  await context.setOffline(false);
  const devTools = await context.newCDPSession(page);
  await devTools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await devTools.detach();
  await page.route(emptyPage, (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  await page.goto(emptyPage);
  await page.unroute(emptyPage);
  unusedWindows.set(key, [...(unusedWindows.get(key) ?? []), page]);
}
