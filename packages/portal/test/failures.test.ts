import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { createPerson, PASSWORD } from '../../server/test/harness/portal-browser.ts';
import { createHighRiskAgent, newWorkspace, paths, RETURN_TO_TAB, type Workspace } from './harness.ts';

test('a page reports a lost connection, keeps the input and can submit it when the connection is back', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'support-bot' });
  const { page } = await workspace.visit('admin', 'settings');
  // The form moves down when the panel "Change retention" appears. A click that the move interrupts would be lost.
  await page.getByRole('heading', { name: 'Change retention' }).waitFor();
  await page.getByLabel('Name').fill('acme of today');
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByText('The server is not responding. This page may be out of date').waitFor();
  await page.getByText('The server is not responding. Your input is kept').waitFor();
  expect(await page.getByLabel('Name').inputValue()).toBe('acme of today');
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The server is not responding. This page may be out of date').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByText('Workspace renamed.').waitFor();
  await page.getByRole('button', { name: /^Workspace acme of today/ }).waitFor();
});

test.each([
  ['a server error', { status: 500, json: { error: 'internal_error', issues: [] } }],
  ['a successful response that is not JSON', { status: 200, contentType: 'text/html', body: '<!doctype html>' }],
])('after %s, the list of agents shows the request ID, and loads after a retry', async (_what, response) => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page
    .context()
    .route('**/api/portal/**/agents*', (route) => route.fulfill({ ...response, headers: { 'x-request-id': 'req-7' } }));
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByText('The server could not complete the request.').waitFor();
  await page.getByText('req-7').waitFor();
  await page.context().unroute('**/api/portal/**/agents*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No agents yet').waitFor();
});

test('a retry that succeeds moves the focus from the button, which disappears, to the page', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const fail = () =>
    page
      .context()
      .route('**/api/portal/**/agents*', (route) =>
        route.fulfill({ status: 500, json: { error: 'internal_error', issues: [] } }),
      );
  const button = page.getByRole('button', { name: 'Try again' });
  const retry = async () => {
    await button.waitFor();
    await page.context().unroute('**/api/portal/**/agents*');
    await button.press('Enter');
    await button.waitFor({ state: 'detached' });
    await page.getByRole('main').getByRole('link', { name: 'support-bot' }).waitFor();
    return page.evaluate('document.activeElement.id');
  };
  await fail();
  await page.getByRole('navigation').getByRole('link', { name: 'Agents' }).click();
  expect(await retry()).toBe('page');
  await fail();
  await page.evaluate(RETURN_TO_TAB);
  expect(await retry()).toBe('page');
});

test('the list of agents says "No agents yet" only if the server has responded that there are no archived agents', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const error = { status: 500, json: { error: 'internal_error', issues: [] } };
  await page.context().route('**/agents?archived=only*', (route) => route.fulfill(error));
  await page.getByRole('link', { name: 'Agents' }).click();
  const message = page.getByRole('main').getByRole('alert').filter({ hasText: 'The server could not complete the request.' });
  await message.waitFor();
  expect(await page.getByText('No agents yet').count()).toBe(0);
  // The panel of the list has no padding, but the message has padding.
  const leftOf = async (locator: Locator) => (await locator.boundingBox())!.x;
  expect(await leftOf(message)).toBeGreaterThan((await leftOf(page.getByPlaceholder('Search by name'))) + 10);
  await page.context().unroute('**/agents?archived=only*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No agents yet').waitFor();
});

test('the portal shows a loading indicator on the first load and during navigation', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const loading = page.getByRole('status', { name: 'Loading' });
  /** Delays requests to this URL until the returned function is called. */
  const delay = async (url: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.context().route(url, async (route) => {
      await promise;
      await route.continue();
    });
    return resolve;
  };

  const releasePage = await delay('**/assets/agents-page-*.js');
  await page.reload();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  // Parts of the overview can still be loading too, so the indicator counts only after the overview is gone.
  await page.getByRole('heading', { name: 'Overview' }).waitFor({ state: 'detached' });
  await page.getByRole('main').getByRole('status', { name: 'Loading' }).first().waitFor();
  releasePage();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();

  const releaseAll = await delay('**/assets/*.js');
  await page.reload({ waitUntil: 'commit' });
  await loading.waitFor();
  expect(await page.getByRole('main').count()).toBe(0);
  releaseAll();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  await loading.waitFor({ state: 'hidden' });
});

test('after the session has ended, a form keeps its input, and opening another page redirects to the sign-in page', async () => {
  const workspace = await newWorkspace();
  const { page, id } = await workspace.visit('admin', 'settings');
  // The retention is loaded after the name. If it were still loading, its panel would also show the 401.
  await page.getByRole('heading', { name: 'Change retention' }).waitFor();
  await page.getByLabel('Name').fill('typed already');
  await workspace.server.database.sql('DELETE FROM countersign.sessions WHERE person_id = $1', [id]);
  await page.evaluate(RETURN_TO_TAB);
  await page.getByRole('region', { name: 'Messages' }).getByText('Your input is kept').waitFor();
  expect(await page.getByLabel('Name').inputValue()).toBe('typed already');
  await page.getByRole('button', { name: 'Rename' }).click();
  const form = page.locator('form').filter({ has: page.getByLabel('Name') });
  await form.getByText('You are signed out. Your input is kept.').waitFor();
  expect(await page.getByLabel('Name').inputValue()).toBe('typed already');
  await page.getByRole('link', { name: 'Runs' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(new URL(page.url()).searchParams.get('to')).toContain('/runs');
});

test('after the session has ended, "Sign out" redirects to the sign-in page and does not mention any input', async () => {
  const workspace = await newWorkspace();
  const { page, id } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: 'Account and sign out' }).click();
  await workspace.server.database.sql('DELETE FROM countersign.sessions WHERE person_id = $1', [id]);
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.getByRole('region', { name: 'Messages' }).innerText()).toBe('');
});

test('a dialog keeps its input while the server responds with 401, and can be submitted afterwards', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'support-bot' });
  const { page } = await workspace.visit('admin', 'incidents');
  await page.getByRole('button', { name: 'Open incident' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: 'support-bot' }).click();
  await dialog.getByLabel('What happened').fill('Promised a refund.');
  const signedOut = { status: 401, json: { error: 'unauthorized', issues: [] } };
  await page.context().route('**/api/portal/**', (route) => route.fulfill(signedOut));
  await page.evaluate(RETURN_TO_TAB);
  await page.getByRole('region', { name: 'Messages' }).getByText('Your input is kept').waitFor();
  expect(await dialog.getByLabel('What happened').inputValue()).toBe('Promised a refund.');
  await page.context().unroute('**/api/portal/**');
  await dialog.getByRole('button', { name: 'Open incident' }).click();
  await page.getByRole('heading', { name: 'Incident with support-bot' }).waitFor();
});

test('a record and a list disappear if a reload shows that they cannot be read any more', async () => {
  const workspace = await newWorkspace();
  const run = await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'support-bot', spans: [] });
  const { page } = await workspace.visit('viewer', `runs/traces/${run.id}`);
  await page.getByRole('heading', { name: 'run-1' }).waitFor();
  const respond = (path: string, status: number, error: string) =>
    page.context().route(path, (route) => route.fulfill({ status, json: { error, issues: [] } }));
  await respond('**/traces/*', 404, 'not_found');
  await page.evaluate(RETURN_TO_TAB);
  await page.getByText('The record does not exist').waitFor();
  expect(await page.getByRole('heading', { name: 'run-1' }).count()).toBe(0);

  await page.goto(`/w/${workspace.id}/runs`);
  await page.getByRole('link', { name: 'run-1' }).waitFor();
  await respond('**/api/portal/**/runs*', 403, 'forbidden');
  await page.evaluate(RETURN_TO_TAB);
  await page.getByText('Your role in this workspace does not allow this.', { exact: false }).waitFor();
  expect(await page.getByRole('link', { name: 'run-1' }).count()).toBe(0);
});

test('a record, a list or the overview that cannot be updated stays on the screen, with a notice until a retry succeeds', async () => {
  const workspace = await newWorkspace();
  const run = await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'support-bot', spans: [] });
  const { page } = await workspace.visit('viewer');
  const notice = page.getByText('This page could not be updated');
  for (const [path, text] of [
    [`runs/traces/${run.id}`, 'run-1'],
    ['runs', 'run-1'],
    ['', 'support-bot'],
  ] as const) {
    await page.goto(`/w/${workspace.id}/${path}`);
    await page.getByRole('main').getByText(text).first().waitFor();
    const error = { status: 500, json: { error: 'internal_error', issues: [] } };
    await page.context().route('**/api/portal/**', (route) => route.fulfill(error));
    await page.evaluate(RETURN_TO_TAB);
    await notice.waitFor();
    await page.getByRole('main').getByText(text).first().waitFor();
    await page.context().unroute('**/api/portal/**');
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await notice.waitFor({ state: 'detached' });
  }
});

test('an empty list and panels that cannot be updated stay on the screen, with a notice until a retry succeeds', async () => {
  const workspace = await newWorkspace();
  const { page, browser } = await workspace.visit('admin');
  await browser.call('POST', `/workspaces/${workspace.id}/invitations`, { email: 'invited@example.com', role: 'viewer' });
  for (const [path, text, what] of [
    ['runs', 'No runs yet', 'This page'],
    ['members', 'Joined', 'This page'],
    ['members', 'invited@example.com', 'The list of invitations'],
    ['signing', 'Decision keys', 'This page'],
    ['settings', 'Identity', 'This page'],
    ['settings', 'Kept forever', 'This panel'],
    ['ledger', 'Decision log', 'The list of logs'],
  ] as const) {
    await page.goto(`/w/${workspace.id}/${path}`);
    await page.getByRole('main').getByText(text).first().waitFor();
    const error = { status: 500, json: { error: 'internal_error', issues: [] } };
    await page.context().route('**/api/portal/**', (route) => route.fulfill(error));
    await page.evaluate(RETURN_TO_TAB);
    const notice = page.getByRole('status').filter({ hasText: `${what} could not be updated` });
    await notice.waitFor();
    await page.getByRole('main').getByText(text).first().waitFor();
    await page.context().unroute('**/api/portal/**');
    await notice.getByRole('button', { name: 'Try again' }).click();
    await notice.waitFor({ state: 'detached' });
  }
});

test('if another admin has already made the same change, the page says that nothing was recorded', async () => {
  const workspace = await newWorkspace();
  const agent = await createHighRiskAgent(workspace, 'support-bot');
  const { page, browser } = await workspace.visit('admin', `agents/${agent}`);
  const path = `/workspaces/${workspace.id}/agents/${agent}`;
  await page.getByRole('button', { name: 'Set to low risk' }).click();
  await browser.call('PATCH', path, { risk_level: 'low' });
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Rationale').fill('It has passed the review.');
  await dialog.getByRole('button', { name: 'Set to low risk' }).click();
  await page.getByText('support-bot was low risk already, so nothing was recorded.').waitFor();

  await page.getByRole('button', { name: 'Archive', exact: true }).click();
  await browser.call('PATCH', `${path}/archived`, { archived: true });
  await dialog.getByRole('button', { name: 'Archive', exact: true }).click();
  await page.getByText('support-bot was archived already, so nothing was recorded.').waitFor();
});

test('an action is rejected after a sign-in of another person in the same browser, and the page then shows that person', async () => {
  const workspace = await newWorkspace();
  await createHighRiskAgent(workspace, 'a');
  const [evaluation] = await workspace.server.database.sql<{ id: string }>(
    'SELECT id FROM countersign.evaluations WHERE tenant_id = $1',
    [workspace.id],
  );
  const { page } = await workspace.visit('approver', `approvals/${evaluation!.id}`);
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('dialog').getByLabel('Rationale').fill('Seen the runs.');
  const ada = await createPerson(workspace.server, { [workspace.id]: 'admin' }, 'ada@example.com');
  const [name, value] = ada.browser.cookie!.split('=');
  // This sign-in does not notify the open page, unlike a sign-in in another tab.
  await page.context().addCookies([{ name: name!, value: value!, url: workspace.server.url }]);
  await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('ada has signed in with this browser since this page was opened').waitFor();
  expect(await countEntries(workspace, 'approval.approved')).toBe(0);
  await page.getByText('ada@example.com').waitFor();

  const second = await page.context().newPage();
  await second.goto('/sign-in');
  const grace = await createPerson(workspace.server, { [workspace.id]: 'viewer' }, 'grace@example.com');
  await second.getByLabel('Email address').fill(grace.email);
  await second.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await second.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('grace@example.com').waitFor();
});

/** The number of audit entries with this action. */
const countEntries = async ({ server, id }: Workspace, action: string): Promise<number> =>
  (await server.database.sql('SELECT 1 FROM countersign.audit_entries WHERE tenant_id = $1 AND action = $2', [id, action]))
    .length;

test('in an empty workspace, the pages for agents, runs, evaluations, decisions and the ledger show an example request', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin');
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  for (const path of ['agents', 'runs', 'evaluations', 'decisions', 'ledger']) {
    await page.goto(`/w/${workspace.id}/${path}`);
    await page.getByText(`curl -s ${workspace.server.url}/api/public/`).first().waitFor();
  }
});
