import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { createPerson } from '../../server/test/harness/portal-browser.ts';
import { createHighRiskAgent, newWorkspace, paths, type Workspace, waitUntilLoaded } from './harness.ts';

/** A name that tables truncate. */
const AGENT = 'an-agent-with-a-name-that-is-longer-than-its-column';

let workspace: Workspace;
let evaluation: string;

/** Creates a record for each list. The agent is high-risk, and its second evaluation, which has a long name, waits for approval. */
beforeAll(async () => {
  workspace = await newWorkspace();
  const { server, id, send } = workspace;
  await createHighRiskAgent(workspace, AGENT);
  await send(paths.telemetry, {
    trace_id: 'run-2026-11-20-0001',
    outcome: 'escalated',
    agent_name: AGENT,
    error: 'late',
  });
  const decision = await send(paths.promotionCheck, { agent_name: AGENT });
  const { browser } = await createPerson(server, { [id]: 'approver' });
  const path = `/workspaces/${id}/approvals/${decision.evaluation_id}`;
  const { seen } = (await browser.call('GET', path)).body;
  expect((await browser.call('POST', `${path}/approve`, { rationale: 'I read the cases.', seen })).status).toBe(200);
  ({ id: evaluation } = await send(paths.evaluations, {
    name: 'nightly regression with the incident',
    agent_name: AGENT,
    status: 'passing',
    pass_rate: 91.5,
  }));
  await send(paths.promotionCheck, { agent_name: AGENT });
  await send(paths.audit, { actor: 'ci:deploy-to-the-production-cluster', action: 'agent.promoted.to-the-production-cluster' });
});

/** The tables that are wider than their panel, each with both widths. */
const findCutOffTables = (page: Page): Promise<string[]> =>
  page.evaluate(`Array.from(document.querySelectorAll('main table[aria-label]'))
    .filter((table) => table.scrollWidth > table.parentElement.clientWidth)
    .map((table) => table.getAttribute('aria-label') + ': ' + table.scrollWidth + ' of ' + table.parentElement.clientWidth)`);

test.each(['', 'agents', 'runs', 'evaluations', 'approvals', 'decisions', 'ledger', 'keys', 'keys?tab=trail'])(
  'in windows of 768 to 1280 pixels, no table of /%s is cut off',
  async (path) => {
    const { page } = await workspace.visit('admin', path, { width: 1024 });
    await waitUntilLoaded(page);
    await page.getByRole('cell').first().waitFor();
    for (const width of [1280, 1200, 1100, 1024, 1001, 900, 768]) {
      await page.setViewportSize({ width, height: 860 });
      expect(await findCutOffTables(page), `at ${width} pixels`).toEqual([]);
    }
  },
);

test('on a phone, changed values of an approval use the width of their column, and an empty cell "Difference" has no title', async () => {
  const { page } = await workspace.visit('approver', `approvals/${evaluation}`, { width: 390 });
  const row = page.getByRole('row').filter({ hasText: 'Evaluation name' });
  const now = row.getByText('nightly regression with the incident');
  await now.waitFor();
  expect((await now.boundingBox())?.width).toBeGreaterThan(60);
  expect(await row.innerText()).not.toContain('Difference');
});

test('in windows of 320 to 1280 pixels, the page of an agent whose evaluation has a long name does not scroll sideways', async () => {
  const { browser } = await createPerson(workspace.server, { [workspace.id]: 'viewer' });
  const name = 'agent-with-a-long-evaluation';
  await workspace.send(paths.evaluations, { name: 'x'.repeat(250), agent_name: name, status: 'passing', pass_rate: 90 });
  const { body } = await browser.call('GET', `/workspaces/${workspace.id}/agents?search=${name}`);
  const { page } = await workspace.visit('viewer', `agents/${body.items[0].id}`, { width: 390 });
  await page.getByText('threshold 80 %').waitFor();
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({ width, height: 860 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  }
});

test('on a phone, a filter from a shared link is visible, and the other filters stay hidden', async () => {
  const { page } = await workspace.visit('viewer', 'ledger?from=2026-01-01', { width: 390 });
  await waitUntilLoaded(page);
  expect(await page.getByLabel('From').isVisible()).toBe(true);
  expect(await page.getByLabel('Run', { exact: true }).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'More filters' }).click();
  expect(await page.getByLabel('Run', { exact: true }).isVisible()).toBe(true);
});
