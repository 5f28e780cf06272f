import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createHighRiskAgent, newWorkspace, paths, waitUntilLoaded } from './harness.ts';

test('a viewer can read records but sees no actions, and neither the pages nor the API show the keys', async () => {
  const workspace = await newWorkspace();
  const agent = await createHighRiskAgent(workspace, 'support-bot');
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page, browser } = await workspace.visit('viewer', 'approvals');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByRole('heading', { name: 'Evaluation', exact: true }).waitFor();
  expect(await page.getByRole('button', { name: /^(Approve|Reject|Withdraw)$/ }).count()).toBe(0);
  // The page says who can approve, and the unmet condition has no link to this page.
  await page.getByText('As a viewer, you cannot approve or reject this evaluation.').waitFor();
  expect(await page.getByRole('link', { name: 'Approval of first' }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Ingestion keys' }).count()).toBe(0);

  const approvals = await browser.call('GET', `/workspaces/${workspace.id}/approvals`);
  const evaluation: string = approvals.body.items[0].evaluation.id;
  const response = await browser.call('POST', `/workspaces/${workspace.id}/approvals/${evaluation}/approve`, { rationale: 'no' });
  expect([response.status, response.body.error]).toEqual([403, 'forbidden']);

  const { page: pageOfAdmin } = await workspace.visit('admin');
  for (const [path, ...actions] of [
    [`agents/${agent}`, 'Set to low risk', 'Archive'],
    ['incidents', 'Open incident', 'Record policy violation'],
    ['members', 'Invite member'],
    ['signing', 'Show', 'Rotate'],
    ['settings', 'Rename', 'Set retention'],
  ] as const) {
    const visibleActions = async (target: Page) => {
      await target.goto(`/w/${workspace.id}/${path}`);
      await waitUntilLoaded(target);
      const counts = await Promise.all(actions.map((name) => target.getByRole('button', { name, exact: true }).count()));
      return actions.filter((_, index) => counts[index]! > 0);
    };
    expect([path, await visibleActions(page), await visibleActions(pageOfAdmin)]).toEqual([path, [], actions]);
  }
  await page.goto(`/w/${workspace.id}/keys`);
  await page.getByText('Only admins of the workspace can see keys and their audit trail.').waitFor();
  for (const path of ['keys', 'key-events']) {
    expect((await browser.call('GET', `/workspaces/${workspace.id}/${path}`)).status).toBe(403);
  }
});

test('an approver sees the action Approve, but cannot open an incident', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page, browser } = await workspace.visit('approver', 'approvals');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  expect(await page.getByText('As a viewer').count()).toBe(0);
  await page.goto(`/w/${workspace.id}/incidents`);
  await page.getByText('No incidents').waitFor();
  expect(await page.getByRole('button', { name: 'Open incident' }).count()).toBe(0);
  const response = await browser.call('POST', `/workspaces/${workspace.id}/incidents`, {});
  expect(response.status).toBe(403);
});

test('to a person who is not a member, a workspace looks like one that does not exist', async () => {
  const workspace = await newWorkspace();
  const other = await workspace.server.workspace('other');
  const { page, pageErrors } = await workspace.visit('admin', '');
  for (const path of [`/w/${other}/runs`, '/w/x']) {
    await page.goto(path);
    await page.getByRole('heading', { name: 'Workspace not found', level: 1 }).waitFor();
    await page.getByText('You are not a member of this workspace, or it does not exist.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  }
  expect(await page.getByRole('navigation', { name: 'Workspaces' }).getByRole('link').allInnerTexts()).toEqual([
    `← ${workspace.name}`,
  ]);
  await page.getByRole('link', { name: 'Go to your workspaces' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(pageErrors).toEqual([]);
});

test('the page for an unknown URL of a workspace keeps the navigation of the workspace', async () => {
  const workspace = await newWorkspace();
  const { page, pageErrors } = await workspace.visit('viewer', 'no-such-page');
  await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  expect(pageErrors).toEqual([]);
});
