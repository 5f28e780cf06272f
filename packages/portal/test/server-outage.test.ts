import { expect, test } from 'vitest';
import { createPerson } from '../../server/test/harness/portal-browser.ts';
import { cloneDatabase } from '../../server/test/harness/test-database.ts';
import { paths, testServer } from '../../server/test/harness/test-server.ts';
import { newWorkspace } from './harness.ts';
import { openWindow } from './window.ts';

/** Two scripts: the first sets a mark, which a reload removes; the second returns whether the mark is set. */
const SET_MARK = 'window.notReloaded = true';
const IS_MARKED = 'window.notReloaded === true';

test('with the server stopped, unvisited pages open and a form keeps its input until the server is back', async () => {
  const database = await cloneDatabase();
  const first = await testServer({ database });
  const id = await first.workspace('acme');
  await first.post(paths.telemetry, await first.key(id), { trace_id: 'r', outcome: 'success', agent_name: 'support-bot' });
  const someone = await createPerson(first, { [id]: 'admin' });
  const { page, pageErrors } = await openWindow({ baseURL: first.url, cookie: someone.browser.cookie, isDataSaverOn: false });
  const requests = new Set<string>();
  page.on('requestfinished', (request) => requests.add(request.url()));
  await page.goto(`/w/${id}/`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.evaluate(SET_MARK);
  await expect.poll(() => [...requests].some((url) => /settings-page-.*\.js/.test(url)), { timeout: 30_000 }).toBe(true);
  await expect.poll(() => [...requests].some((url) => /members-page-.*\.js/.test(url)), { timeout: 30_000 }).toBe(true);

  await first.stop();
  for (const name of ['Members', 'Audit ledger', 'Incidents']) {
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  }
  await page.getByText('The server is not responding. This page may be out of date').waitFor();
  await page.getByRole('button', { name: 'Open incident' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('What happened').fill('Promised a refund.');

  const second = await testServer({ database, port: Number(new URL(first.url).port) });
  await page.getByText('The server is not responding. This page may be out of date').waitFor({ state: 'detached' });
  expect(await dialog.getByLabel('What happened').inputValue()).toBe('Promised a refund.');
  await dialog.getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: 'support-bot' }).click();
  await dialog.getByRole('button', { name: 'Open incident' }).click();
  await page.getByRole('heading', { name: 'Incident with support-bot' }).waitFor();
  expect(await page.evaluate(IS_MARKED)).toBe(true);
  expect(pageErrors).toEqual([]);
  await second.stop();
  await database.drop();
});

test('a notice is shown if the code of a page cannot be loaded, and the page later opens without a reload', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer', 'members');
  const context = page.context();
  await context.route('**/assets/agents-page-*.js', (route) => route.abort());
  await page.goto(`/w/${workspace.id}/`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.evaluate(SET_MARK);
  // The server runs but cannot send the code.
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await page.getByText('The server did not send the code of this page.').waitFor();
  // The server is unreachable.
  await context.route('**/readyz', (route) => route.abort());
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByText('The page opens automatically when the server is back.').waitFor();
  await context.unroute('**/assets/agents-page-*.js');
  await context.unroute('**/readyz');
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  expect(await page.evaluate(IS_MARKED)).toBe(true);
});

test('the portal preloads the remaining pages if the code of one page cannot be loaded', async () => {
  const workspace = await newWorkspace();
  const { browser } = await createPerson(workspace.server, { [workspace.id]: 'viewer' });
  const { page } = await openWindow({ baseURL: workspace.server.url, cookie: browser.cookie, isDataSaverOn: false });
  const requests: string[] = [];
  page.on('requestfinished', (request) => requests.push(request.url()));
  await page.context().route('**/assets/account-page-*.js', (route) => route.abort());
  await page.goto(`/w/${workspace.id}/`);
  await expect.poll(() => requests.some((url) => /settings-page-.*\.js/.test(url)), { timeout: 30_000 }).toBe(true);
});

test('the portal does not load the code of unvisited pages if the data saver of the browser is on', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer');
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.reload();
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await page.waitForLoadState('networkidle');
  expect(requests.filter((url) => /overview-page-.*\.js/.test(url))).not.toEqual([]);
  expect(requests.filter((url) => /settings-page-.*\.js/.test(url))).toEqual([]);
});
