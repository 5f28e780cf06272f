import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createPerson } from '../../server/test/harness/portal-browser.ts';
import { newWorkspace, paths, type Workspace } from './harness.ts';
import { openWindow } from './window.ts';

/** Goes two pages back at once, like a click on an entry of the Back button's menu. */
const goBackTwoPages = (page: Page): Promise<void> => page.evaluate('history.go(-2)');

/** Switches to another workspace with the menu. */
async function switchTo(page: Page, { id, name }: Workspace): Promise<void> {
  await page.getByRole('button', { name: /^Workspace / }).click();
  await page.getByRole('menuitem', { name }).click();
  await page.waitForURL(`**/w/${id}`);
}

test('a page of one workspace shows no input, result or data of another workspace', async () => {
  const [first, second] = [await newWorkspace(), await newWorkspace()];
  for (const { send } of [first, second])
    await send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'support-bot' });
  await first.send(paths.promotionCheck, { agent_name: 'support-bot' });
  await first.send(paths.audit, { actor: 'ci', action: 'agent.promoted' });
  const { browser } = await createPerson(first.server, { [first.id]: 'admin', [second.id]: 'admin' });
  const { page, pageErrors } = await openWindow({ baseURL: first.server.url, cookie: browser.cookie });
  const navigation = page.getByRole('navigation', { name: 'Workspace' });

  // Case 1: the input in the forms for the retention and the name.
  const settings = navigation.getByRole('link', { name: 'Workspace', exact: true });
  const telemetryDays = page.getByLabel('Keep telemetry events for (days)');
  const name = page.getByLabel('Name', { exact: true });
  await page.goto(`/w/${first.id}/settings`);
  await telemetryDays.waitFor();
  await switchTo(page, second);
  await settings.click();
  await telemetryDays.fill('30');
  await page.getByRole('checkbox').check();
  await goBackTwoPages(page);
  await page.waitForURL(`**/w/${first.id}/settings`);
  await expect.poll(() => name.inputValue()).toBe(first.name);
  await expect.poll(() => telemetryDays.inputValue()).toBe('');
  expect(await page.getByRole('checkbox').count()).toBe(0);

  // Case 2: the result of a verification of the ledger.
  const ledger = navigation.getByRole('link', { name: 'Audit ledger' });
  await ledger.click();
  await page.getByText('Not verified yet.').waitFor();
  await switchTo(page, second);
  await ledger.click();
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('Ledger verified').waitFor();
  await goBackTwoPages(page);
  await page.waitForURL(`**/w/${first.id}/ledger`);
  await page.getByText('Not verified yet.').waitFor();

  // Case 3: the first steps, and the period of the charts. Only the first workspace has decisions.
  await switchTo(page, second);
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await switchTo(page, first);
  await page.getByRole('heading', { name: 'Latest decisions' }).waitFor();
  expect(await page.getByRole('heading', { name: 'First steps' }).count()).toBe(0);
  await page.getByText('90 days', { exact: true }).click();
  await page.getByText('in 90 days').first().waitFor();
  await switchTo(page, second);
  await page.getByText('in 14 days').first().waitFor();
  expect(pageErrors).toEqual([]);
});

test('a page keeps neither the criteria of another agent nor the decision key that was loaded for another decision', async () => {
  const workspace = await newWorkspace();
  const agents = ['support-bot', 'Support-Bot'];
  for (const agent_name of agents) {
    await workspace.send(paths.evaluations, { name: 'nightly', agent_name, status: 'passing', pass_rate: 90 });
    await workspace.send(paths.promotionCheck, { agent_name });
  }
  const { page, pageErrors } = await workspace.visit('admin', 'agents');
  const link = (name: string) => page.getByRole('main').getByRole('link', { name, exact: true }).first();
  const heading = (name: string) => page.getByRole('heading', { name, level: 1, exact: true });
  const requiredPassRate = page.getByLabel('Required pass rate (%)');
  await link('Support-Bot').click();
  await heading('Support-Bot').waitFor();
  await link('support-bot').click();
  await heading('support-bot').waitFor();
  await requiredPassRate.fill('95');
  await page.getByText('Promotion would be blocked').waitFor();
  await link('Support-Bot').click();
  await heading('Support-Bot').waitFor();
  expect(await requiredPassRate.inputValue()).toBe('80');
  await page.getByText('Promotion would be allowed').waitFor();

  await page.goto(`/w/${workspace.id}/decisions`);
  const notChecked = page.getByText('Signature (HMAC-SHA256): not checked');
  await link('support-bot').click();
  await notChecked.waitFor();
  await link('Decisions').click();
  await link('Support-Bot').click();
  await page.getByRole('button', { name: 'Load key and verify' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Load key' }).click();
  await page.getByText('Signature (HMAC-SHA256): passed').waitFor();
  await goBackTwoPages(page);
  await heading('Allowed: support-bot').waitFor();
  await notChecked.waitFor();
  expect(pageErrors).toEqual([]);
});
