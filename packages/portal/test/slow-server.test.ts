import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createHighRiskAgent, newWorkspace, paths } from './harness.ts';

/** Delays requests to these URLs until the returned function is called. */
async function delay(page: Page, urls: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.context().route(urls, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** Two scripts: the first shortens the time limit of requests, which is 30 seconds; the second restores it. */
const SHORTEN_TIME_LIMIT = `window.realSetTimeout = setTimeout;
  window.setTimeout = (act, ms, ...rest) => realSetTimeout(act, ms === 30_000 ? 100 : ms, ...rest)`;
const RESTORE_TIME_LIMIT = 'window.setTimeout = realSetTimeout';

test('the promotion preview shows no verdict until the server has checked the criteria in its fields', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'passing', pass_rate: 90 });
  const { page } = await workspace.visit('viewer', 'agents');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText('Promotion would be allowed').waitFor();
  const release = await delay(page, '**/promotion-preview*');
  const request = page.waitForRequest(/min_pass_rate=95/);
  await page.getByLabel('Required pass rate (%)').fill('95');
  expect(await page.getByText('Promotion would be').count()).toBe(0);
  await request;
  expect(await page.getByText('Promotion would be').count()).toBe(0);
  release();
  await page.getByText('Promotion would be blocked').waitFor();
});

test('after a change of the filter, a list is shown as empty only after the server has responded', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  await workspace.send(paths.evaluations, { name: 'second', agent_name: 'support-bot', status: 'passing', pass_rate: 95 });
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer', 'approvals?status=rejected');
  const main = page.getByRole('main');
  await main.getByText('No rejected evaluations yet').waitFor();
  const release = await delay(page, '**/approvals*');
  await main.getByText('Pending', { exact: true }).click();
  await main.getByRole('status', { name: 'Loading' }).waitFor();
  expect(await main.getByText('No pending approvals').count()).toBe(0);
  release();
  await main.getByRole('link', { name: 'support-bot' }).waitFor();
});

test('a page says that it may be out of date if the server accepts requests and does not respond', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const banner = page.getByText('The server is not responding. This page may be out of date');
  await page.context().route(/\/api\/portal\/|\/readyz/, () => undefined);
  await page.evaluate(SHORTEN_TIME_LIMIT);
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await banner.waitFor();
  await page.evaluate(RESTORE_TIME_LIMIT);
  await page.context().unrouteAll();
  await banner.waitFor({ state: 'detached' });
  await page.getByText('No agents yet').waitFor();
});

test('a change of the retention may take longer than other requests, because the server reads the ledger first', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin', 'settings');
  const main = page.getByRole('main');
  await main.getByText('Kept forever').first().waitFor();
  await main.getByLabel('Keep traces for (days)').fill('365');
  const release = await delay(page, '**/settings/retention');
  await page.evaluate(SHORTEN_TIME_LIMIT);
  await main.getByRole('button', { name: 'Set retention' }).click();
  await page.waitForTimeout(500);
  await page.evaluate(RESTORE_TIME_LIMIT);
  release();
  await main.getByText('Kept for 365 days').waitFor();
  expect(await main.getByText('not responding').count()).toBe(0);
});
