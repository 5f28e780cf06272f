import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createPerson } from '../../server/test/harness/portal-browser.ts';
import { createHighRiskAgent, newWorkspace, paths, RETURN_TO_TAB, type Workspace } from './harness.ts';

const checkPromotion = async ({ send }: Workspace) => {
  const { allowed, reason } = await send(paths.promotionCheck, { agent_name: 'support-bot' });
  return { allowed, reason };
};

const openDialog = (page: Page, action: string): Promise<void> => page.getByRole('button', { name: action, exact: true }).click();

/** Enters the rationale in the open dialog of the action and confirms. */
async function confirm(page: Page, action: string, rationale: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Rationale').fill(rationale);
  await dialog.getByRole('button', { name: action, exact: true }).click();
}

async function decide(page: Page, action: string, rationale: string): Promise<void> {
  await openDialog(page, action);
  await confirm(page, action, rationale);
}

test('an approver can approve, withdraw and reject, and a new evaluation blocks a high-risk agent again', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  expect(await checkPromotion(workspace)).toEqual({ allowed: false, reason: 'approval_required' });

  const { page, pageErrors } = await workspace.visit('approver');
  await page.getByRole('link', { name: 'Approvals 1 pending' }).click();
  await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText(/Recorded .* by key/).waitFor();
  await page.getByText('No earlier evaluation of this agent is approved').waitFor();

  await decide(page, 'Approve', '   ');
  await page.getByRole('dialog', { name: 'Approve first (agent support-bot)' }).waitFor();
  await page.getByText('Enter a rationale.').waitFor();
  await page.getByRole('dialog').getByLabel('Rationale').fill('I read the failed cases.');
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Approved. The approval applies to promotion checks that use this evaluation.').waitFor();

  await decide(page, 'Withdraw', 'Too early.');
  await page.getByText('Approval withdrawn. The evaluation is pending again.').waitFor();
  expect(await checkPromotion(workspace)).toEqual({ allowed: false, reason: 'approval_required' });

  // Another approver approves first: the dialog reports the conflict, and the page shows the current state.
  await openDialog(page, 'Approve');
  const other = await createPerson(workspace.server, { [workspace.id]: 'approver' });
  const evaluation = new URL(page.url()).pathname.split('/').at(-1);
  const approvalPath = `/workspaces/${workspace.id}/approvals/${evaluation}`;
  const { seen } = (await other.browser.call('GET', approvalPath)).body;
  expect((await other.browser.call('POST', `${approvalPath}/approve`, { rationale: 'I read them too.', seen })).status).toBe(200);
  await confirm(page, 'Approve', 'Now I read the failed cases.');
  await page.getByRole('dialog').getByText('is approved already').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Withdraw' }).waitFor();
  expect(await page.getByRole('main').getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
  expect(await checkPromotion(workspace)).toEqual({ allowed: true, reason: 'all_conditions_met' });

  await workspace.send(paths.evaluations, { name: 'second', agent_name: 'support-bot', status: 'passing', pass_rate: 91 });
  expect(await checkPromotion(workspace)).toEqual({ allowed: false, reason: 'approval_required' });
  await page
    .getByRole('navigation', { name: 'Workspace' })
    .getByRole('link', { name: /Approvals/ })
    .click();
  await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  // The cached list can still show the first evaluation.
  await page.getByRole('row').filter({ hasText: 'second' }).getByRole('link', { name: 'support-bot' }).click();
  await page.getByRole('heading', { name: 'Changes since the last approved evaluation' }).waitFor();
  expect(await page.getByRole('table', { name: 'Changes' }).innerText()).toContain('-4');
  await decide(page, 'Reject', 'Worse than before.');
  await page.getByText('Rejected. While the agent is high risk, it cannot be promoted with this evaluation.').waitFor();
  expect(await checkPromotion(workspace)).toEqual({ allowed: false, reason: 'approval_rejected' });

  const acts = await workspace.server.database.sql<{ action: string }>(
    `SELECT action FROM countersign.audit_entries
      WHERE tenant_id = $1 AND action LIKE 'approval.%' AND recorded_by LIKE 'user:%' ORDER BY seq`,
    [workspace.id],
  );
  expect(acts.map(({ action }) => action)).toEqual([
    'approval.approved',
    'approval.withdrawn',
    'approval.approved',
    'approval.rejected',
  ]);
  expect(pageErrors).toEqual([]);
});

test('an approval records nothing if its dialog was opened before the page was updated', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  const { evaluation_id: evaluation } = await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('approver');
  const url = `**/api/portal/**/approvals/${evaluation}`;
  await page.context().route(url, async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as object;
    await route.fulfill({ response, json: { ...body, notes: 'These notes were changed.', seen: '0'.repeat(64) } });
  });
  await page.goto(`/w/${workspace.id}/approvals/${evaluation}`);
  await page.getByText('These notes were changed.').waitFor();
  await openDialog(page, 'Approve');
  await page.context().unrouteAll();
  await page.evaluate(RETURN_TO_TAB);
  await page.getByText('These notes were changed.').waitFor({ state: 'detached' });
  await confirm(page, 'Approve', 'I read the notes.');
  await page.getByRole('dialog').getByText('Nothing was recorded').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await decide(page, 'Approve', 'I read the notes again.');
  await page.getByText('Approved. The approval applies to promotion checks that use this evaluation.').waitFor();
});

test('the page of an approval does not list the models as unchanged if only some runs were searched for models', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  await checkPromotion(workspace);
  const { page, pageErrors } = await workspace.visit('approver', 'approvals');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await decide(page, 'Approve', 'I read the failed cases.');
  await page.getByText('Approved. The approval applies to promotion checks that use this evaluation.').waitFor();
  const event = { trace_id: 'run', agent_name: 'support-bot', outcome: 'success' };
  // More events than the server searches for models (server/src/storage/portal/run-totals.ts).
  for (const size of [101, 100]) await workspace.send(paths.telemetry, { events: Array(size).fill(event) });
  const body = { name: 'first', agent_name: 'support-bot', status: 'passing', pass_rate: 95 };
  const { id } = await workspace.send(paths.evaluations, body);
  await page.goto(`/w/${workspace.id}/approvals/${id}`);
  await page.getByText(/^Compared: .*recorded by\. None of these changed\.$/).waitFor();
  expect(await page.getByText('so other models may have been used').count()).toBe(2);
  expect(pageErrors).toEqual([]);
});

test('the page of an agent links to the list of all its approvals, which includes approved evaluations', async () => {
  const workspace = await newWorkspace();
  const agent = await createHighRiskAgent(workspace, 'support-bot');
  await checkPromotion(workspace);
  const { page, pageErrors } = await workspace.visit('approver', 'approvals');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await decide(page, 'Approve', 'I read the failed cases.');
  await page.getByText('Approved. The approval applies to promotion checks that use this evaluation.').waitFor();

  await page.goto(`/w/${workspace.id}/agents/${agent}`);
  await page.getByRole('tab', { name: 'Approvals' }).click();
  await page.getByRole('link', { name: 'All approvals of this agent' }).click();
  await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  const list = page.getByRole('table', { name: 'Approvals' });
  await list.getByRole('link', { name: 'support-bot' }).waitFor();
  expect(await list.getByRole('row').nth(1).innerText()).toMatch(/approved/i);
  expect(pageErrors).toEqual([]);
});

test('the page of an approval names no requester if the evaluation was approved before any promotion check', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  const [evaluation] = await workspace.server.database.sql<{ id: string }>(
    'SELECT id FROM countersign.evaluations WHERE tenant_id = $1',
    [workspace.id],
  );
  const { page } = await workspace.visit('approver', `approvals/${evaluation!.id}`);
  await decide(page, 'Approve', 'I read the failed cases.');
  await page.getByText('Decided by').waitFor();
  expect(await page.getByText('Approval requested by').count()).toBe(0);
});

test("the page of a low-risk agent's pending approval says how to decide it; the overview lists it if the agent is archived", async () => {
  const workspace = await newWorkspace();
  const agent = await createHighRiskAgent(workspace, 'support-bot');
  await checkPromotion(workspace);
  const { page, browser } = await workspace.visit('admin', `agents/${agent}`);
  await page.getByRole('button', { name: 'Set to low risk' }).click();
  await page.getByText('Pending approvals stay pending.', { exact: false }).waitFor();
  const path = `/workspaces/${workspace.id}/agents/${agent}`;
  await browser.call('PATCH', path, { risk_level: 'low' });
  await page.goto(`/w/${workspace.id}/approvals`);
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText('An admin can set the agent to high risk again', { exact: false }).waitFor();

  await browser.call('PATCH', `${path}/archived`, { archived: true });
  await page.goto(`/w/${workspace.id}`);
  await page.getByRole('link', { name: 'Approval of support-bot' }).waitFor();
  await page.getByRole('link', { name: 'Approvals 1 pending' }).waitFor();
});

test('the pages of an older evaluation without a harness say that no promotion check can use the evaluation', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  const [evaluation] = await workspace.server.database.sql<{ id: string }>(
    'SELECT id FROM countersign.evaluations WHERE tenant_id = $1',
    [workspace.id],
  );
  await workspace.send(paths.evaluations, { name: 'second', agent_name: 'support-bot', status: 'passing', pass_rate: 91 });
  const { page } = await workspace.visit('viewer', `evaluations/${evaluation!.id}`);
  await page.getByText('So no promotion check can use this evaluation any more', { exact: false }).waitFor();
  await page.goto(`/w/${workspace.id}/approvals/${evaluation!.id}`);
  await page.getByText('So no promotion check can use this evaluation any more', { exact: false }).waitFor();
});

test('after a page change, the navigation counts pending approvals anew', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'support-bot');
  const { evaluation_id: evaluation } = await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer', 'approvals');
  await page.getByRole('link', { name: 'Approvals 1 pending' }).waitFor();
  const { browser } = await createPerson(workspace.server, { [workspace.id]: 'approver' });
  const path = `/workspaces/${workspace.id}/approvals/${evaluation}`;
  const { seen } = (await browser.call('GET', path)).body;
  expect((await browser.call('POST', `${path}/reject`, { rationale: 'Not good enough.', seen })).status).toBe(200);
  await page.evaluate('{ const now = Date.now(); Date.now = () => now + 60_000 }');
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await page.getByRole('link', { name: 'Approvals', exact: true }).waitFor();
});
