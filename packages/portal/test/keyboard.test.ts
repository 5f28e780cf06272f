import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createPerson, PASSWORD } from '../../server/test/harness/portal-browser.ts';
import { createHighRiskAgent, newWorkspace, paths, waitUntilLoaded } from './harness.ts';
import { openWindow } from './window.ts';

const STOPS_MAX = 120;

/** Whether this element has the focus. */
const isFocused = (target: Locator): Promise<boolean> =>
  target.evaluate((element: { ownerDocument: { activeElement: unknown } }) => element.ownerDocument.activeElement === element);

/** Presses Tab until the target has the focus. Throws if it is not among the next STOPS_MAX tab stops. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let stops = 0; stops < STOPS_MAX; stops += 1) {
    if (await isFocused(target)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${target} is not reached by the Tab key`);
}

test('a person can sign in, open an evaluation and approve it by keyboard, and times are not tab stops', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { email } = await createPerson(workspace.server, { [workspace.id]: 'approver' });
  const { page, pageErrors } = await openWindow({ baseURL: workspace.server.url });
  await page.goto('/');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await tabTo(page, page.getByLabel('Email address'));
  await page.keyboard.type(email);
  await tabTo(page, page.getByRole('textbox', { name: 'Password' }));
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await tabTo(page, page.getByRole('link', { name: /Approvals/ }).first());
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  // After navigation the heading has the focus, so Tab continues in the page and not in the navigation.
  await tabTo(page, page.getByRole('link', { name: 'support-bot' }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'Approve', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await expect.poll(() => isFocused(page.getByRole('button', { name: 'Approve', exact: true }))).toBe(true);
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('dialog').getByLabel('Rationale'));
  await page.keyboard.type('I read the failed cases.');
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByText('Approved. The approval applies to promotion checks that use this evaluation.').waitFor();
  // The button Approve is gone, so the heading gets the focus, and Tab continues in the page.
  await expect.poll(() => isFocused(page.getByRole('heading', { level: 1 }))).toBe(true);

  await page.goto(`/w/${workspace.id}/evaluations`);
  const moment = page.getByRole('main').locator('time').first();
  const exact = (await moment.getAttribute('data-hint')) ?? '';
  expect(exact).toMatch(/\d{4}.*\d\d:\d\d:\d\d/);
  // Times are not tab stops. Screen readers get the exact time from the text.
  expect(await moment.getAttribute('tabindex')).toBeNull();
  expect(await moment.textContent()).toContain(exact);
  expect(pageErrors).toEqual([]);
});

test('a day can be typed into a date filter', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer', 'evaluations');
  await waitUntilLoaded(page);
  const from = page.getByLabel('From', { exact: true });
  await from.focus();
  // The pauses between the digits are longer than the filter's typing pause, so the filter also handles each incomplete year.
  await page.keyboard.type('1127');
  await page.keyboard.type('2026', { delay: 500 });
  await expect.poll(() => new URL(page.url()).search).toBe('?from=2026-11-27');
  expect(await from.inputValue()).toBe('2026-11-27');
  // The day is incomplete after this key, so the filter is removed.
  await page.keyboard.press('Backspace');
  await expect.poll(() => new URL(page.url()).search).toBe('');
});

test('the color scheme menu opens by keyboard, and the chosen scheme survives a reload', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer');
  const scheme = () => page.evaluate('document.documentElement.dataset.mantineColorScheme');
  expect(await scheme()).toBe('light');
  await tabTo(page, page.getByRole('button', { name: /^Color scheme/ }));
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Dark' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(scheme).toBe('dark');
  await page.reload();
  expect(await scheme()).toBe('dark');
});

test('when a dialog that was opened from a menu closes, the heading of the page gets the focus', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin', 'keys');
  await page.getByRole('button', { name: /^Actions for/ }).click();
  await page.getByRole('menuitem', { name: 'Rotate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await expect.poll(() => isFocused(page.getByRole('heading', { level: 1 }))).toBe(true);
});

test('the heading has the focus after the next record or another workspace is opened', async () => {
  const [workspace, other] = [await newWorkspace(), await newWorkspace()];
  for (const action of ['agent.promoted', 'agent.retired']) await workspace.send(paths.audit, { actor: 'ci', action });
  const { browser } = await createPerson(workspace.server, { [workspace.id]: 'viewer', [other.id]: 'viewer' });
  const { page } = await openWindow({ baseURL: workspace.server.url, cookie: browser.cookie });
  await page.goto(`/w/${workspace.id}/ledger/1`);
  await page.getByRole('link', { name: 'Next', exact: true }).focus();
  await page.keyboard.press('Enter');
  const heading = page.getByRole('heading', { level: 1 });
  await page.getByRole('heading', { name: 'Entry 2: agent.retired' }).waitFor();
  await expect.poll(() => isFocused(heading)).toBe(true);

  await page.goto(`/w/${workspace.id}`);
  await page.getByRole('button', { name: `Workspace ${workspace.name}` }).click();
  await page.getByRole('menuitem', { name: other.name }).click();
  await page.getByRole('button', { name: `Workspace ${other.name}` }).waitFor();
  await expect.poll(() => isFocused(heading)).toBe(true);
});

test('after a rejected submission, the first field with an error has the focus, and its list stays closed', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin', 'incidents');
  await page.getByRole('button', { name: 'Record policy violation' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Record', exact: true }).click();
  await expect.poll(() => isFocused(dialog.getByRole('combobox', { name: 'Agent' }))).toBe(true);
  expect(await page.getByRole('listbox').count()).toBe(0);
});
