import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { newWorkspace } from './harness.ts';

const run = promisify(execFile);

/** Runs a command of the page in a shell and returns the JSON that it prints. */
async function runInShell(command: string): Promise<{ ok?: boolean; error?: string }> {
  const { stdout } = await run('sh', ['-c', command]);
  return JSON.parse(stdout);
}

const readKey = (page: Page) => page.getByRole('group', { name: 'key', exact: true }).innerText();
const readCommand = (page: Page) => page.getByRole('group', { name: 'curl command' }).innerText();

/** Chooses an action from the menu of the key ci-deploy. */
async function chooseAction(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions for ci-deploy' }).click();
  await page.getByRole('menuitem', { name }).click();
}

test('the new secret of a rotated key is shown before the lists are loaded again', async () => {
  const workspace = await newWorkspace();
  const { page, browser } = await workspace.visit('admin', 'members');
  const scopes = ['audit'];
  await browser.call('POST', `/workspaces/${workspace.id}/keys`, { kind: 'live', name: 'ci-deploy', scopes });
  await page.goto(`/w/${workspace.id}/keys`);
  await page.getByRole('button', { name: 'Actions for ci-deploy' }).waitFor();
  // GET requests get no response.
  await page.context().route('**/api/portal/**', (route) => (route.request().method() === 'GET' ? undefined : route.continue()));
  await chooseAction(page, 'Rotate');
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('The old secret no longer works.').waitFor();
  expect(await readKey(page)).toMatch(/^aa_live_/);
});

test('the form for scopes does not restore a scope that another admin has removed meanwhile', async () => {
  const workspace = await newWorkspace();
  const { page, browser } = await workspace.visit('admin', 'members');
  const path = `/workspaces/${workspace.id}/keys`;
  const scopes = ['audit', 'evaluations'];
  const { prefix } = (await browser.call('POST', path, { kind: 'live', name: 'ci-deploy', scopes })).body;
  await page.goto(`${workspace.server.url}/w/${workspace.id}/keys`);
  await chooseAction(page, 'Change scopes');
  await browser.call('PATCH', `${path}/${prefix}`, { scopes: ['audit'] });
  await page.getByRole('checkbox', { name: 'telemetry' }).check();
  await page.getByRole('button', { name: 'Change scopes' }).click();
  await page.getByText(/are now audit/).waitFor();
});

test('an admin mints and rotates a key, changes its scopes and revokes it, with immediate effect and an audit trail', async () => {
  const workspace = await newWorkspace();
  const { page, pageErrors } = await workspace.visit('admin', 'keys');
  await page.getByRole('button', { name: 'Mint key', exact: true }).click();
  await page.getByRole('button', { name: 'Mint', exact: true }).click();
  await page.getByText(/Must not be empty/).waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill('ci-deploy');
  await page.getByLabel('Expires').fill('2020-01-01T00:00');
  await page.getByRole('button', { name: 'Mint', exact: true }).click();
  await page.getByText(/Must be in the future/).waitFor();
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('ci-deploy');
  await page.getByLabel('Expires').fill('20277-01-01T00:00');
  await page.getByRole('button', { name: 'Mint', exact: true }).click();
  await page.getByText(/Must be an RFC 3339 date-time/).waitFor();
  await page.getByLabel('Expires').fill('2999-01-01T00:00');
  await page.getByRole('button', { name: 'Mint', exact: true }).click();

  const first = await readKey(page);
  expect(first).toMatch(/^aa_live_[0-9a-f]{12}/);
  await page.getByRole('button', { name: 'Copy key' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(first);
  const command = await readCommand(page);
  expect(await runInShell(command)).toMatchObject({ ok: true });
  await page.getByRole('button', { name: 'I have copied it' }).click();
  expect(await page.getByText(first).count()).toBe(0);

  await chooseAction(page, 'Rotate');
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('The old secret no longer works.').waitFor();
  const second = await readKey(page);
  expect(second).not.toBe(first);
  expect(await runInShell(command)).toMatchObject({ error: 'unauthorized' });
  const secondCommand = await readCommand(page);
  expect(await runInShell(secondCommand)).toMatchObject({ ok: true });
  await page.getByRole('button', { name: 'I have copied it' }).click();

  await chooseAction(page, 'Change scopes');
  await page.getByRole('checkbox', { name: 'audit' }).check();
  await page.getByRole('checkbox', { name: 'telemetry' }).uncheck();
  await page.getByRole('button', { name: 'Change scopes' }).click();
  await page.getByText('Scopes changed').waitFor();
  expect(await runInShell(secondCommand)).toMatchObject({ error: 'insufficient_scope' });

  await chooseAction(page, 'Revoke');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Key revoked').waitFor();
  expect(await runInShell(secondCommand)).toMatchObject({ error: 'unauthorized' });

  await page.getByRole('tab', { name: 'Audit trail' }).click();
  const trail = page.getByRole('table', { name: 'Key audit trail' });
  await trail.getByText('revoked').waitFor();
  // Newest first. The last row is about the key that newWorkspace minted.
  const rows = await trail.locator('tbody tr').allInnerTexts();
  expect(rows.slice(0, 4).map((text) => /revoked|scopes changed|rotated|minted/.exec(text)?.[0])).toEqual([
    'revoked',
    'scopes changed',
    'rotated',
    'minted',
  ]);
  expect(rows.slice(0, 4).every((text) => text.includes('ci-deploy') && text.includes('(you)'))).toBe(true);
  expect(pageErrors).toEqual([]);
});
