import { expect, test } from 'vitest';
import { newWorkspace, RETURN_TO_TAB } from './harness.ts';

test('an admin sets how long runs are kept, and must confirm a short period', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin', 'settings');
  const main = page.getByRole('main');
  await main.getByText('Kept forever').first().waitFor();
  const confirmation = main.getByRole('checkbox', { name: /less than 183 days/ });
  await main.getByLabel('Keep traces for (days)').fill('365');
  await main.getByLabel('Keep telemetry events for (days)').fill('ninety');
  expect(await confirmation.count()).toBe(0);
  await main.getByRole('button', { name: 'Set retention' }).click();
  await main.getByText('must be').waitFor();
  await main.getByLabel('Keep telemetry events for (days)').fill('90');
  await main.getByRole('button', { name: 'Set retention' }).click();
  await main.getByText('must be confirmed').waitFor();
  await confirmation.check();
  await main.getByRole('button', { name: 'Set retention' }).click();
  await main.getByText('Kept for 365 days').waitFor();
  await main.getByText('Kept for 90 days').waitFor();
  await main.getByText('For runs received since').waitFor();
});

test('a field that was not changed does not overwrite the period that another admin has set meanwhile', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin', 'settings');
  const main = page.getByRole('main');
  await main.getByLabel('Keep telemetry events for (days)').fill('365');
  const other = await workspace.visit('admin', 'members');
  await other.browser.call('PATCH', `/workspaces/${workspace.id}/settings/retention`, { trace_days: 3650 });
  await main.getByRole('button', { name: 'Set retention' }).click();
  await main.getByText('Kept for 365 days').waitFor();
  await main.getByText('Kept for 3650 days').waitFor();
});

test('a viewer sees how long runs are kept and cannot change the periods', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer', 'settings');
  await page.getByRole('main').getByText('Kept forever').first().waitFor();
  expect(await page.getByRole('button', { name: 'Set retention' }).count()).toBe(0);
});

test('after a change by another admin, an edited field keeps its input, and the other field is updated', async () => {
  const workspace = await newWorkspace();
  const { page, browser } = await workspace.visit('admin', 'settings');
  const main = page.getByRole('main');
  await main.getByLabel('Keep traces for (days)').fill('400');
  await browser.call('PATCH', `/workspaces/${workspace.id}/settings/retention`, { telemetry_days: 365 });
  await page.evaluate(RETURN_TO_TAB);
  await main.getByText('Kept for 365 days').waitFor();
  expect(await main.getByLabel('Keep traces for (days)').inputValue()).toBe('400');
  expect(await main.getByLabel('Keep telemetry events for (days)').inputValue()).toBe('365');
});
