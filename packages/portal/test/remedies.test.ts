import { expect, test } from 'vitest';
import { newWorkspace, paths } from './harness.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/;

test('on the overview and on the pages of the agent and the decision, every failed condition links to its remedy', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly-safety', agent_name: 'grave', status: 'failing', pass_rate: 40 });
  for (const name of ['later', 'sooner'])
    await workspace.send(paths.evaluations, {
      name: `run-of-${name}`,
      agent_name: name,
      status: name === 'later' ? 'scheduled' : 'running',
    });
  const { page, browser, pageErrors } = await workspace.visit('admin');
  const api = `/workspaces/${workspace.id}`;
  const agent: string = (await browser.call('GET', `${api}/agents?search=grave`)).body.items[0].id;
  await browser.call('PATCH', `${api}/agents/${agent}`, { risk_level: 'high' });
  const incident = { agent_id: agent, severity: 'high', description: 'Promised a refund.', recertify: true };
  await browser.call('POST', `${api}/incidents`, incident);
  const decision = await workspace.send(paths.promotionCheck, { agent_name: 'grave' });

  await page.reload();
  const row = page.getByRole('table', { name: 'Promotion status of agents' }).locator('tr', { hasText: 'grave' });
  const reasons = ['Evaluation failing: nightly-safety', 'Pass rate below threshold: nightly-safety'];
  for (const text of [...reasons, 'Approval required: Approval of nightly-safety', 'Incident: Promised a refund.'])
    await row.getByText(text).waitFor();
  await page.getByText('Evaluation scheduled: run-of-later').waitFor();
  await page.getByText('Evaluation running: run-of-sooner').waitFor();
  await row.getByRole('link', { name: 'Incident: Promised a refund.' }).click();
  await page.getByRole('heading', { name: 'Incident with grave' }).waitFor();

  for (const path of [`agents/${agent}`, `decisions/${decision.decision_id}`]) {
    await page.goto(`/w/${workspace.id}/${path}`);
    const conditions = page.getByRole('main').locator('ol').filter({ hasText: 'Recent passing evaluation' });
    await conditions.getByRole('link', { name: 'Incident: Promised a refund.' }).waitFor();
    expect(await conditions.getByRole('link').allInnerTexts()).toEqual([
      'nightly-safety',
      'nightly-safety',
      'Approval of nightly-safety',
      'Incident: Promised a refund.',
    ]);
    expect(await conditions.innerText()).not.toMatch(UUID);
    await conditions.getByRole('link', { name: 'Approval of nightly-safety' }).click();
    await page.getByRole('heading', { name: 'grave: nightly-safety' }).waitFor();
  }
  expect(pageErrors).toEqual([]);
});

test('the overview shows promotable agents, links to the agents that it omits, and the Tab key skips its times', async () => {
  const workspace = await newWorkspace();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    await workspace.send(paths.evaluations, { name: 'n', agent_name: `agent-${name}`, status: 'failing', pass_rate: 40 });
  await workspace.send(paths.evaluations, { name: 'n', agent_name: 'fit', status: 'passing', pass_rate: 99 });
  const { page } = await workspace.visit('viewer');
  const standings = page.getByRole('table', { name: 'Promotion status of agents' });
  await standings.getByRole('link', { name: 'fit' }).waitFor();
  expect(await page.locator('time[tabindex]').count()).toBe(0);
  await page.getByRole('link', { name: '2 more agents' }).click();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
});

test('the overview says that it counts only the first agents of a large workspace', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer');
  await page.getByText('0 of 1 agent can be promoted now; 1 cannot.').waitFor();
  await page.context().route('**/api/portal/**/overview', async (route) => {
    const overview = await (await route.fetch()).json();
    await route.fulfill({ json: { ...overview, agents_total: 1_200, promotable: 997, blocked: 3 } });
  });
  await page.reload();
  await page.getByText('997 of the first 1,000 agents can be promoted now; 3 cannot.').waitFor();
});

test('the overview links to the open re-certifications, and shows a count that reached its limit as "1,000 or more"', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'bot' });
  const { page } = await workspace.visit('viewer');
  await page.context().route('**/api/portal/**/overview', async (route) => {
    const response = await route.fetch();
    const counts = { approvals_pending: 1_000, recertifications_open: 12 };
    await route.fulfill({ response, json: { ...(await response.json()), ...counts } });
  });
  await page.reload();
  await page.getByRole('link', { name: 'All pending approvals (1,000 or more)' }).waitFor();
  await page.getByRole('link', { name: 'Approvals 1,000+ pending' }).waitFor();
  await page.getByRole('link', { name: 'All 12 open re-certifications' }).click();
  await page.getByRole('heading', { name: 'Incidents', level: 1 }).waitFor();
  expect(await page.getByLabel('Re-certification', { exact: true }).inputValue()).toBe('open');
});

test('the table of runs by day shows the number of runs and the number of unsuccessful runs in the same format', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'failure', agent_name: 'bot' });
  const { page } = await workspace.visit('viewer');
  await page.context().route('**/overview/usage*', async (route) => {
    const response = await route.fetch();
    const { days } = (await response.json()) as { days: object[] };
    await route.fulfill({ response, json: { days: days.map((day) => ({ ...day, runs: 23_456, failures: 12_345 })) } });
  });
  await page.reload();
  await page.getByText('Show as table').first().click();
  const cells = page.getByRole('table').filter({ hasText: 'other than success' }).locator('tbody tr').first().locator('td');
  await expect.poll(async () => (await cells.allInnerTexts()).slice(1)).toEqual(['23.5K', '12.3K']);
});
