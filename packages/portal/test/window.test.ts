import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { afterFile } from '../../server/test/harness/after-file.ts';
import { openWindow } from './window.ts';

let baseURL: string;

beforeAll(async () => {
  // The path /cookies sets two cookies that scripts cannot read. The body of each response contains the cookies of its request.
  const server = createServer(({ url, headers }, response) => {
    const cookies = url === '/cookies' ? ['of_all=1; Path=/; HttpOnly', 'of_path=1; Path=/pages; HttpOnly'] : [];
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': cookies }).end(headers.cookie ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => server.close());
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

/** Stores an item in each storage of the page's origin. */
const STORE_ITEMS = `new Promise((resolve, reject) => {
  document.cookie = 'of_script=1; max-age=3600';
  localStorage.setItem('left', '1');
  sessionStorage.setItem('left', '1');
  const opening = indexedDB.open('left');
  opening.onsuccess = () => resolve();
  opening.onerror = () => reject(opening.error);
})`;

/** The items in each storage of the page's origin, and whether the page is online. */
const READ_ITEMS = `(async () => ({
  cookies: document.cookie,
  local: Object.keys(localStorage),
  session: Object.keys(sessionStorage),
  databases: (await indexedDB.databases()).map(({ name }) => name),
  isOnline: navigator.onLine,
}))()`;

describe('a window that a later test uses again', () => {
  let first: Page;
  let second: Page;
  /** The events of the first window that reached listeners of the first test. */
  const receivedEvents: string[] = [];

  test('is left by the first test offline and with cookies, stored items, routes, listeners and a second page', async () => {
    const { page } = await openWindow({ baseURL, cookie: 'of_option=1' });
    first = page;
    await page.goto('/cookies');
    await page.evaluate(STORE_ITEMS);
    await page.goto('/pages');
    expect((await page.innerText('body')).split('; ').sort()).toEqual(['of_all=1', 'of_option=1', 'of_path=1', 'of_script=1']);
    await page.goto('/');
    const stored = { local: ['left'], session: ['left'], databases: ['left'], isOnline: true };
    expect(await page.evaluate(READ_ITEMS)).toMatchObject(stored);
    page.on('request', () => receivedEvents.push('request'));
    page.on('requestfinished', () => receivedEvents.push('requestfinished'));
    page.on('console', () => receivedEvents.push('console'));
    page.on('pageerror', () => receivedEvents.push('pageerror'));
    page.on('dialog', () => receivedEvents.push('dialog'));
    await page.context().route('**/*', (route) => route.abort());
    await page.route('**/*', (route) => route.abort());
    second = await page.context().newPage();
    await page.context().setOffline(true);
  });

  test('has no cookies, stored items, routes or listeners of the first test, is online, and its second page is closed', async () => {
    receivedEvents.length = 0;
    const { page, pageErrors } = await openWindow({ baseURL });
    expect(page).toBe(first);
    expect(second.isClosed()).toBe(true);
    expect(page.context().pages()).toEqual([page]);
    expect(await page.context().cookies()).toEqual([]);
    expect((await page.goto('/pages'))!.status()).toBe(200);
    expect(await page.innerText('body')).toBe('');
    expect(await page.evaluate(READ_ITEMS)).toEqual({ cookies: '', local: [], session: [], databases: [], isOnline: true });
    page.once('dialog', (dialog) => dialog.dismiss());
    await page.evaluate(`console.log('logged'); alert('shown'); setTimeout(() => { throw new Error('thrown'); })`);
    await expect.poll(() => pageErrors).toEqual(['error: thrown']);
    expect(receivedEvents).toEqual([]);
  });
});
