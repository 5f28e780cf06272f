import { expect, test } from 'vitest';
import { newWorkspace, paths, waitUntilLoaded } from './harness.ts';

test("the page of a decision shows the exact times of the decision and its evidence in the reader's time zone", async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'passing', pass_rate: 95 });
  const { decision_id } = await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer', `decisions/${decision_id}`, { timezoneId: 'Asia/Kolkata' });
  await waitUntilLoaded(page);
  const times = await page.getByRole('main').locator('time').allInnerTexts();
  // The time of the decision, the time when the evidence was read, and the time of the evaluation.
  expect(times).toHaveLength(3);
  for (const time of times) expect(time).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d GMT\+5:30 \((just now|1 min\. ago)\)$/);
});

/** A script that returns, by name, whether each of these parts of the page is visible. */
const READ_VISIBILITY = `Object.fromEntries(Object.entries({
  navigation: 'nav[aria-label="Workspace"], #navigation',
  menu: 'button[aria-controls="navigation"]',
  buttons: 'main button, main a[download]',
  heading: 'h1',
  checks: 'main li h3',
}).map(([name, selector]) => [name, Array.from(document.querySelectorAll(selector)).some((each) => each.checkVisibility())]))`;

test('a printed decision has light colors and the complete signed document, without navigation and buttons', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'passing', pass_rate: 95 });
  const { decision_id } = await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('admin', `decisions/${decision_id}`, { colorScheme: 'dark' });
  await page.getByText('Verified: the decision is unaltered').waitFor();
  await page.emulateMedia({ media: 'print' });
  expect(await page.evaluate(READ_VISIBILITY)).toEqual({
    navigation: false,
    menu: false,
    buttons: false,
    heading: true,
    checks: true,
  });
  expect(await page.evaluate(`getComputedStyle(document.querySelector('h1')).color`)).toBe('rgb(26, 33, 39)');
  const hiddenPx = await page
    .getByRole('group', { name: 'the decision as JSON' })
    .evaluate((element: { scrollHeight: number; clientHeight: number }) => element.scrollHeight - element.clientHeight);
  expect(hiddenPx).toBe(0);
  await page.emulateMedia({ media: null });
});

test('a printed list shows exact times instead of relative ones', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'passing', pass_rate: 95 });
  const { page } = await workspace.visit('viewer', 'evaluations');
  await waitUntilLoaded(page);
  const time = page.getByRole('table', { name: 'Evaluations' }).locator('time');
  expect(await time.innerText()).toContain('just now');
  await page.emulateMedia({ media: 'print' });
  expect(await time.innerText()).toBe('');
  const content = await page.evaluate(`getComputedStyle(document.querySelector('td time'), '::after').content`);
  expect(content).toMatch(/\d{4}, \d\d:\d\d:\d\d/);
  await page.emulateMedia({ media: null });
});

test('the notes of an evaluation and the detail of a run keep their line breaks', async () => {
  const workspace = await newWorkspace();
  const notes = 'Model changed.\n- refunds: better\n- tone: same';
  const evaluation = { name: 'nightly', agent_name: 'support-bot', status: 'passing', pass_rate: 95, notes };
  const { id } = await workspace.send(paths.evaluations, evaluation);
  const run = {
    trace_id: 'run-1',
    agent_name: 'support-bot',
    detail: notes,
    spans: [{ span_id: 's1', kind: 'llm', name: 'plan' }],
  };
  const { id: trace } = await workspace.send(paths.traces, run);
  const { page } = await workspace.visit('viewer', `evaluations/${id}`);
  for (const path of [`evaluations/${id}`, `runs/traces/${trace}`]) {
    await page.goto(`/w/${workspace.id}/${path}`);
    // innerText has the line breaks that are visible.
    expect(await page.getByText('- refunds: better').first().innerText()).toBe(notes);
  }
});

test('the title of the window names the page and, inside a workspace, the workspace', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer', 'decisions');
  await waitUntilLoaded(page);
  expect(await page.title()).toBe(`Decisions · ${workspace.name} · Countersign`);
  await page.goto('/account');
  await waitUntilLoaded(page);
  expect(await page.title()).toBe('Account · Countersign');
});
