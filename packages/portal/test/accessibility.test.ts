import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { createWorkspaceSetUpLink } from '../../server/src/people/one-time-links.ts';
import { createPerson } from '../../server/test/harness/portal-browser.ts';
import { createHighRiskAgent, newWorkspace, paths, type Workspace, waitUntilLoaded } from './harness.ts';
import { openWindow } from './window.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

let workspace: Workspace;
let emptyWorkspace: string;
/** The pages that a signed-in person can open, by name, with their paths below the workspace. A path with a leading slash is absolute. */
const pages: Record<string, string> = {
  overview: '',
  agents: 'agents',
  runs: 'runs',
  evaluations: 'evaluations',
  decisions: 'decisions',
  ledger: 'ledger',
  entry: 'ledger/1',
  approvals: 'approvals',
  incidents: 'incidents',
  violations: 'incidents?tab=violations',
  keys: 'keys',
  'key trail': 'keys?tab=trail',
  members: 'members',
  signing: 'signing',
  settings: 'settings',
  account: '/account',
  'one-time link that is not valid': '/link#x',
  'not found': '/no-such-page',
  'workspace not found': '/w/x',
};

beforeAll(async () => {
  workspace = await newWorkspace();
  const { send, id } = workspace;
  const spans = [
    { span_id: 's1', kind: 'llm', name: 'plan', model: 'example-model', messages: [{ role: 'user', content: 'Hello' }] },
    { span_id: 's2', parent_span_id: 's1', kind: 'tool', name: 'look up', error: 'gone', tool_arguments: { id: 7 } },
  ];
  const { id: trace } = await send(paths.traces, { trace_id: 'run-1', agent_name: 'support-bot', error: 'gone', spans });
  await send(paths.telemetry, { trace_id: 'run-2', outcome: 'failure', agent_name: 'support-bot' });
  const agent = await createHighRiskAgent(workspace, 'support-bot');
  const { decision_id: decision } = await send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { browser } = await workspace.visit('admin');
  const incident = await browser.call('POST', `/workspaces/${id}/incidents`, {
    agent_id: agent,
    severity: 'high',
    description: 'Promised a refund.',
    recertify: true,
  });
  const approvals = await browser.call('GET', `/workspaces/${id}/approvals`);
  const evaluation: string = approvals.body.items[0].evaluation.id;
  const events = await browser.call('GET', `/workspaces/${id}/runs?source=telemetry`);
  emptyWorkspace = await workspace.server.workspace('empty');
  Object.assign(pages, {
    'an empty list of approvals': `/w/${emptyWorkspace}/approvals`,
    'one-time link': (await createWorkspaceSetUpLink(workspace.server.open.pool, emptyWorkspace)).path,
    agent: `agents/${agent}`,
    trace: `runs/traces/${trace}`,
    event: `runs/events/${events.body.items[0].id}/0`,
    evaluation: `evaluations/${evaluation}`,
    decision: `decisions/${decision}`,
    approval: `approvals/${evaluation}`,
    incident: `incidents/${incident.body.id}`,
  });
});

/** All rules of axe-core, or only the rules that depend on the color scheme. */
type Rules = 'all' | 'colors';

/** Waits until all CSS transitions have ended, because colors in transition have a wrong contrast. */
async function waitForTransitions(page: Page): Promise<void> {
  await page.evaluate(`Promise.allSettled(
    document.getAnimations().filter((each) => each instanceof CSSTransition).map((transition) => transition.finished))`);
}

/** The serious and critical violations that axe-core finds on the page, one text for each element. */
async function findViolations(page: Page, rules: Rules = 'all'): Promise<string[]> {
  await waitForTransitions(page);
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const runOnly = rules === 'all' ? {} : { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };
  const options = JSON.stringify({ resultTypes: ['violations'], ...runOnly });
  const result = (await page.evaluate(`axe.run(document, ${options})`)) as {
    violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[];
  };
  return result.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`));
}

test('every page for a signed-in person fits on a phone, follows the content security policy and has no serious axe-core violation', {
  timeout: 240_000,
}, async () => {
  const { browser } = await createPerson(workspace.server, { [workspace.id]: 'admin', [emptyWorkspace]: 'admin' });
  const { page, pageErrors } = await openWindow({ baseURL: workspace.server.url, cookie: browser.cookie });
  const problems: string[] = [];
  for (const [name, path] of Object.entries(pages)) {
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(path.startsWith('/') ? path : `/w/${workspace.id}/${path}`);
    await waitUntilLoaded(page);
    const light = await findViolations(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(() => page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark');
    const dark = await findViolations(page, 'colors');
    await page.setViewportSize(PHONE);
    const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
    if (width > PHONE.width) problems.push(`${name}: ${width} pixels wide on a phone`);
    for (const tab of await page.getByRole('tab').all()) {
      const { x, width: tabWidth } = (await tab.boundingBox()) ?? { x: 0, width: 0 };
      if (x + tabWidth > PHONE.width)
        problems.push(`${name}: the tab ${await tab.innerText()} extends beyond the screen of a phone`);
    }
    problems.push(...light.map((each) => `${name}, light: ${each}`), ...dark.map((each) => `${name}, dark: ${each}`));
  }
  expect(problems).toEqual([]);
  expect(pageErrors).toEqual([]);
});

describe.each(['light', 'dark'] as const)('axe-core finds no serious violation in the %s color scheme', (colorScheme) => {
  test('in the menu and in a dialog with an error, at phone width', async () => {
    const { page } = await workspace.visit('admin', 'keys', { colorScheme, width: 390 });
    await waitUntilLoaded(page);
    await page.getByRole('button', { name: 'Open the menu' }).click();
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Close the menu' }).click();
    await page.getByRole('button', { name: 'Mint key', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await page.getByRole('button', { name: 'Mint', exact: true }).click();
    await page.getByText(/Must not be empty/).waitFor();
    expect(await findViolations(page)).toEqual([]);
    // A laptop window at 200 % zoom: the page frame must not cover the dialog.
    await page.setViewportSize({ width: 640, height: 400 });
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test("in the colors of a key's actions menu", async () => {
    const { page } = await workspace.visit('admin', 'keys', { colorScheme });
    await page
      .getByRole('button', { name: /^Actions for/ })
      .first()
      .click();
    await page.getByRole('menuitem', { name: 'Revoke' }).waitFor();
    expect(await findViolations(page, 'colors')).toEqual([]);
  });

  test('on the sign-in page', async () => {
    const { page } = await openWindow({ baseURL: workspace.server.url, colorScheme });
    await page.goto('/sign-in');
    await waitUntilLoaded(page);
    expect(await findViolations(page)).toEqual([]);
  });
});

/** The names of the page's animations that take more than a millisecond. */
const findLongAnimations = (page: Page): Promise<string[]> =>
  page.evaluate(`document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().activeDuration > 1)
    .map((animation) => animation.animationName ?? animation.transitionProperty)`);

test('with reduced motion, the loading screen and the placeholders of a list and of a page do not move', async () => {
  const { page } = await workspace.visit('viewer', 'keys');
  await page.route('**/assets/index-*.js', () => undefined);
  await page.goto(`/w/${workspace.id}/`, { waitUntil: 'commit' });
  await page.locator('.loading-screen').waitFor();
  expect(await findLongAnimations(page)).toEqual([]);
  await page.unroute('**/assets/index-*.js');
  await page.route('**/api/portal/workspaces/*/**', () => undefined);
  for (const path of ['agents', pages.agent]) {
    await page.goto(`/w/${workspace.id}/${path}`);
    await page.getByRole('status', { name: 'Loading' }).first().waitFor();
    expect(await findLongAnimations(page), path).toEqual([]);
  }
});
