import { expect, test } from 'vitest';
import { openIncident } from '../../server/src/workspace/open-incident.ts';
import { newWorkspace, paths } from './harness.ts';

test('pages make repeated spaces in the name of an agent visible, and report a similar name with single spaces', async () => {
  const workspace = await newWorkspace();
  for (const agent_name of ['checkout bot', 'checkout  bot'])
    await workspace.send(paths.evaluations, { name: 'nightly', agent_name, status: 'passing', pass_rate: 90 });
  const { page, pageErrors } = await workspace.visit('viewer', 'agents');
  const rows = page.getByRole('table', { name: 'Agents' }).locator('tbody tr');
  await rows.filter({ hasText: 'Similar to checkout\u2423\u2423bot' }).waitFor();
  await rows
    .filter({ hasText: 'Similar to checkout bot' })
    .getByRole('link', { name: 'checkout\u2423\u2423bot', exact: true })
    .click();
  await page.getByRole('heading', { name: 'checkout\u2423\u2423bot', level: 1 }).waitFor();

  const agent = new URL(page.url()).pathname.split('/').at(-1)!;
  const incident = { agent: { id: agent }, severity: 'high', description: 'It lied.', recertify: true } as const;
  const id = await openIncident(workspace.server.open.pool, workspace.id, incident, 'operator');
  await page.goto(`/w/${workspace.id}/incidents/${id}`);
  await page.getByText('The latest evaluation of "checkout\u2423\u2423bot"', { exact: false }).waitFor();
  await page.goto(`/w/${workspace.id}/ledger`);
  await page.getByRole('cell', { name: 'checkout\u2423\u2423bot' }).waitFor();
  await page.getByRole('link', { name: 'incident.created' }).click();
  await expect.poll(() => page.getByText('checkout\u2423\u2423bot', { exact: true }).count()).toBe(2);
  expect(pageErrors).toEqual([]);
});

test('the list of agents and the page of an agent link to agents with similar names', async () => {
  const workspace = await newWorkspace();
  for (const agent_name of ['support-bot', 'Support-Bot', 'another'])
    await workspace.send(paths.evaluations, { name: 'nightly', agent_name, status: 'passing', pass_rate: 90 });
  const { page, pageErrors } = await workspace.visit('viewer', 'agents');
  const rows = page.getByRole('table', { name: 'Agents' }).locator('tbody tr');
  await rows.filter({ hasText: /Similar to Support-Bot/ }).waitFor();
  await rows.filter({ hasText: /Similar to support-bot/ }).waitFor();
  expect(await page.getByText('Similar to').count()).toBe(2);
  await rows.getByRole('link', { name: 'another' }).click();
  await page.getByRole('heading', { name: 'another', level: 1 }).waitFor();
  expect(await page.getByText('Similar to').count()).toBe(0);
  await page.goBack();
  await rows
    .filter({ hasText: /Similar to support-bot/ })
    .getByRole('link', { name: 'support-bot', exact: true })
    .click();
  await page.getByRole('heading', { name: 'support-bot', level: 1 }).waitFor();
  await page.getByText('Similar to').getByRole('link', { name: 'Support-Bot', exact: true }).click();
  await page.getByRole('heading', { name: 'Support-Bot', level: 1 }).waitFor();
  expect(pageErrors).toEqual([]);
});
