import { expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../server/test/fixtures/run-command.ts';
import { createPerson, PASSWORD } from '../../server/test/harness/portal-browser.ts';
import { newWorkspace, waitUntilLoaded } from './harness.ts';
import { openWindow } from './window.ts';

test('an admin invites a member by link, changes their role, creates a password reset link and removes the member', async () => {
  const workspace = await newWorkspace();
  const { page, pageErrors } = await workspace.visit('admin', 'members');
  await page.getByRole('button', { name: 'Invite member' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email address').fill('grace');
  await dialog.getByRole('button', { name: 'Create invitation' }).click();
  await dialog.getByText(/Must be an e-?mail address/).waitFor();
  await dialog.getByLabel('Email address').fill('grace@example.com');
  await dialog.getByRole('button', { name: 'Create invitation' }).click();
  const invitation = await page.getByRole('group', { name: 'one-time link' }).innerText();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('table', { name: 'Invitations' }).getByText('grace@example.com').waitFor();

  const grace = await openWindow({ baseURL: workspace.server.url });
  await grace.page.goto(invitation);
  await grace.page.getByText('as a viewer', { exact: false }).waitFor();
  await grace.page.getByLabel('Your name').fill('Grace Hopper');
  await grace.page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
  await grace.page.getByRole('button', { name: 'Join' }).click();
  await grace.page.getByRole('heading', { name: 'Overview' }).waitFor();

  await page.reload();
  await page.getByLabel('Role of Grace Hopper').selectOption('approver');
  await page.getByText('Grace Hopper is now an approver.').waitFor();
  await grace.page.reload();
  await grace.page.getByRole('button', { name: `${workspace.name} approver` }).waitFor();

  await page.getByRole('button', { name: 'Actions for Grace Hopper' }).click();
  await page.getByRole('menuitem', { name: 'Create password reset link' }).click();
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const resetLink = await page.getByRole('group', { name: 'one-time link' }).innerText();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  const resetWindow = await openWindow({ baseURL: workspace.server.url });
  await resetWindow.page.goto(resetLink);
  await resetWindow.page.getByRole('textbox', { name: 'New password' }).fill(`${PASSWORD} anew`);
  await resetWindow.page.getByRole('button', { name: 'Set password' }).click();
  await resetWindow.page.getByRole('heading', { name: 'Overview' }).waitFor();
  // The password reset ends all other sessions.
  await grace.page.goto(`/w/${workspace.id}/runs`);
  await grace.page.getByRole('heading', { name: 'Sign in' }).waitFor();

  await page.getByRole('button', { name: 'Actions for Grace Hopper' }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Grace Hopper is no longer a member of the workspace.').waitFor();
  await page.getByLabel('Role of Grace Hopper').waitFor({ state: 'detached' });
  expect([...pageErrors, ...grace.pageErrors, ...resetWindow.pageErrors]).toEqual([]);
});

test('after leaving a workspace, a person sees their other workspace and a message', async () => {
  const [workspace, other] = [await newWorkspace(), await newWorkspace()];
  await createPerson(workspace.server, { [workspace.id]: 'admin' });
  const { email, browser } = await createPerson(workspace.server, { [other.id]: 'viewer', [workspace.id]: 'admin' });
  const { page, pageErrors } = await openWindow({ baseURL: workspace.server.url, cookie: browser.cookie });
  await page.goto(`/w/${workspace.id}/members`);
  await waitUntilLoaded(page);
  await page.getByRole('button', { name: `Actions for ${email.split('@')[0]}` }).click();
  await page.getByRole('menuitem', { name: 'Leave workspace' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
  await page.getByText(`You left ${workspace.name}.`).waitFor();
  await page.getByRole('button', { name: `Workspace ${other.name} viewer` }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/w/${other.id}`);
  expect(pageErrors).toEqual([]);
});

test('leaving the only workspace ends the session, and the dialog warns about this', async () => {
  const workspace = await newWorkspace();
  await createPerson(workspace.server, { [workspace.id]: 'admin' });
  const { page, email, pageErrors } = await workspace.visit('admin', 'members');
  await waitUntilLoaded(page);
  await page.getByRole('button', { name: `Actions for ${email.split('@')[0]}` }).click();
  await page.getByRole('menuitem', { name: 'Leave workspace' }).click();
  await page.getByRole('dialog').getByText('This is your only workspace, so leaving it signs you out.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
  await page.getByText(`You left ${workspace.name}.`).waitFor();
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'No workspace yet' }).waitFor();
  expect(pageErrors).toEqual([]);
});

test('an invitation that another admin has withdrawn disappears from the list when it is withdrawn again', async () => {
  const workspace = await newWorkspace();
  const { page, browser } = await workspace.visit('admin', 'members');
  const path = `/workspaces/${workspace.id}/invitations`;
  await browser.call('POST', path, { email: 'grace@example.com', role: 'viewer' });
  await page.reload();
  const row = page.getByRole('table', { name: 'Invitations' }).getByRole('row', { name: /grace@example\.com/ });
  await row.waitFor();
  const { items } = (await browser.call('GET', path)).body;
  await browser.call('DELETE', `${path}/${items[0].id}`);
  await row.getByRole('button', { name: 'Withdraw' }).click();
  await row.waitFor({ state: 'detached' });
});

test('the last admin cannot be demoted, and the page shows the reason', async () => {
  const workspace = await newWorkspace();
  const { page, email } = await workspace.visit('admin', 'members');
  const role = page.getByLabel(`Role of ${email.split('@')[0]}`);
  await role.selectOption('viewer');
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').innerText()).toMatch(/admin/);
  await expect.poll(() => role.inputValue()).toBe('admin');
});

test('an admin shows, rotates and retires a decision key, and the ledger records each action', async () => {
  const workspace = await newWorkspace();
  const { page, pageErrors } = await workspace.visit('admin', 'signing');
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await dialog.getByRole('button', { name: 'Show key' }).click();
  expect(await page.getByRole('group', { name: 'decision key' }).innerText()).toMatch(/^[0-9a-f]{64}$/);
  await page.getByRole('button', { name: 'Hide' }).click();
  await page.getByRole('button', { name: 'Rotate' }).click();
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('waiting', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Retire' }).first().click();
  await dialog.getByRole('button', { name: 'Retire' }).click();
  await page.getByText('retired', { exact: true }).waitFor();
  const acts = await workspace.server.database.sql<{ action: string }>(
    `SELECT action FROM countersign.audit_entries WHERE tenant_id = $1 AND action LIKE 'decision_key.%' ORDER BY seq`,
    [workspace.id],
  );
  expect(acts.map(({ action }) => action)).toEqual(['decision_key.shown', 'decision_key.rotated', 'decision_key.retired']);
  expect(pageErrors).toEqual([]);
});

test('the account page says that the account has no password yet, and does not ask for a current password', async () => {
  const { server, name } = await newWorkspace();
  const { out } = await runCommand(
    { ...environmentOf(server), COUNTERSIGN_PUBLIC_URL: server.url },
    ...['members', 'add', '--workspace', name, '--email', 'guest@example.com', '--role', 'viewer'],
  );
  const { page, pageErrors } = await openWindow({ baseURL: server.url });
  await page.goto(out.trim());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto('/account');
  await page.getByText('You have no password yet.', { exact: false }).waitFor();
  expect(await page.getByLabel('Current password').count()).toBe(0);
  expect(pageErrors).toEqual([]);
});

test('the invitation page of a person without a password shows no form and says how to get a password', async () => {
  const { server, name } = await newWorkspace();
  await runCommand(
    { ...environmentOf(server), COUNTERSIGN_PUBLIC_URL: server.url },
    ...['members', 'add', '--workspace', name, '--email', 'visitor@example.com', '--role', 'viewer'],
  );
  const other = await newWorkspace();
  const admin = await createPerson(server, { [other.id]: 'admin' });
  const invitation = { email: 'visitor@example.com', role: 'viewer' };
  const { body } = await admin.browser.call('POST', `/workspaces/${other.id}/invitations`, invitation);
  const { page, pageErrors } = await openWindow({ baseURL: server.url });
  await page.goto(body.path);
  await page.getByText('Your account has no password yet.', { exact: false }).waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  expect(pageErrors).toEqual([]);
});
