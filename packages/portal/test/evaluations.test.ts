import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { setEvaluationTime } from '../../server/test/harness/evaluation-time.ts';
import { newWorkspace, paths } from './harness.ts';

/** Reloads the page and records what its canvas draws: the texts, and the colors of the lines of suites. */
async function reloadWithCanvasRecorder(page: Page): Promise<{ texts: () => Promise<string[]>; lines: () => Promise<string[]> }> {
  const recorder = await page.addInitScript(`
    window.drawn = { texts: [], lines: [] };
    const { fillText, stroke } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.drawn.texts.push(text);
      return fillText.call(this, text, ...rest);
    };
    CanvasRenderingContext2D.prototype.stroke = function (...path) {
      // Only the lines of suites and the marks of evaluations are drawn with a Path2D.
      if (path.length > 0) window.drawn.lines.push(this.strokeStyle);
      return stroke.apply(this, path);
    };
  `);
  onTestFinished(() => recorder.dispose());
  await page.reload();
  return {
    texts: async () => [...new Set((await page.evaluate('window.drawn.texts')) as string[])],
    lines: async () => {
      const colors = new Set((await page.evaluate('window.drawn.lines')) as string[]);
      colors.delete(MARK_BORDER);
      return [...colors].sort();
    },
  };
}

const HARNESS = '0f8fad5b-d9cb-469f-a165-70867728950e';
const SERIES_COLORS = ['#0b5563', '#6b3fa0', '#9a5b00', '#1d5fa8', '#a03060'];
/** The color of the border of each mark; a mark is one evaluation. */
const MARK_BORDER = '#ffffff';

test('the list of evaluations shows the suite, so that evaluations with the same name and category look different', async () => {
  const workspace = await newWorkspace();
  for (const suite of ['regression', 'safety'])
    await workspace.send(paths.detailedEvaluations, {
      name: 'nightly',
      agent_name: 'bot',
      status: 'passing',
      pass_rate: 90,
      category: 'release',
      suite: { name: suite },
    });
  await workspace.send(paths.evaluations, { name: 'by hand', agent_name: 'bot', status: 'passing', pass_rate: 88 });
  const { page } = await workspace.visit('viewer', 'evaluations');
  const names = async () => (await page.getByRole('row').locator('td:first-child').allInnerTexts()).map((text) => text.trim());
  await expect.poll(names).toEqual(['by hand', 'nightly · suite safety · release', 'nightly · suite regression · release']);
});

test('the pass rate chart draws a line for each suite, up to five, and lists the suites in its legend', async () => {
  const workspace = await newWorkspace();
  const evaluate = (suite: string, passRate: number) =>
    workspace.send(paths.detailedEvaluations, {
      name: `${suite} of tonight`,
      agent_name: 'bot',
      status: passRate < 80 ? 'failing' : 'passing',
      pass_rate: passRate,
      suite: { name: suite },
    });
  for (const rate of [91, 92])
    for (const suite of ['regression', 'safety']) await evaluate(suite, suite === 'safety' ? 20 : rate);
  await workspace.send(paths.evaluations, { name: 'by hand', agent_name: 'bot', status: 'passing', pass_rate: 88 });
  const { page, browser, pageErrors } = await workspace.visit('viewer');
  const agent: string = (await browser.call('GET', `/workspaces/${workspace.id}/agents`)).body.items[0].id;
  await page.goto(`/w/${workspace.id}/agents/${agent}`);
  const canvas = await reloadWithCanvasRecorder(page);
  const legend = page.getByRole('list', { name: 'Suites' });
  await legend.waitFor();
  const entries = async () => (await legend.getByRole('listitem').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
  expect(await entries()).toEqual(['by hand 88 %', 'safety 20 %', 'regression 92 %']);
  await expect.poll(canvas.lines).toEqual(SERIES_COLORS.slice(0, 3).sort());

  for (const suite of ['tone', 'latency', 'refunds', 'privacy']) await evaluate(suite, 85);
  await page.reload();
  await expect
    .poll(entries)
    .toEqual(['privacy 85 %', 'refunds 85 %', 'latency 85 %', 'tone 85 %', 'by hand 88 %', '2 other suites']);
  await expect.poll(canvas.lines).toEqual([...SERIES_COLORS].sort());
  expect(pageErrors).toEqual([]);
});

test('the pass rate chart labels only days with a pass rate, and a text replaces the chart if there are no pass rates', async () => {
  const workspace = await newWorkspace();
  const evaluate = (name: string, more: object) => workspace.send(paths.evaluations, { name, agent_name: 'traveler', ...more });
  for (const name of ['first', 'second']) await evaluate(name, { status: 'passing', pass_rate: 90 });
  await evaluate('planned', { status: 'scheduled' });
  const days = `CASE name WHEN 'planned' THEN timestamptz '2025-12-20T12:00Z'
    WHEN 'first' THEN '2026-01-01T09:00Z' ELSE '2026-01-05T09:00Z' END`;
  await setEvaluationTime(workspace.server, 'traveler', days);
  const { page, browser } = await workspace.visit('viewer', '', { timezoneId: 'Europe/Berlin' });
  const agent: string = (await browser.call('GET', `/workspaces/${workspace.id}/agents`)).body.items[0].id;
  await page.goto(`/w/${workspace.id}/agents/${agent}`);
  const canvas = await reloadWithCanvasRecorder(page);
  const labels = async () => (await canvas.texts()).filter((text) => /[A-Z]/.test(text));
  await expect.poll(labels).toEqual(['1 Jan', '5 Jan']);

  await workspace.send(paths.evaluations, { name: 'later', agent_name: 'silent', status: 'scheduled' });
  const silent = (await browser.call('GET', `/workspaces/${workspace.id}/agents?search=silent`)).body.items[0].id;
  await page.goto(`/w/${workspace.id}/agents/${silent}`);
  await page.getByText('No evaluation of this agent reported a pass rate.').waitFor();
  await workspace.send(paths.evaluations, { name: 'rated', agent_name: 'silent', status: 'passing', pass_rate: 90 });
  await page.reload();
  await page.getByRole('img', { name: /^Pass rate of 1 evaluation in one suite over time/ }).waitFor();
});

test('the page of an evaluation shows its reported cases, time, suite, failures, artifact and runs', async () => {
  const workspace = await newWorkspace();
  const artifact = `sha256:${'ab'.repeat(32)}`;
  const { id } = await workspace.send(paths.detailedEvaluations, {
    name: 'nightly',
    agent_name: 'bot',
    status: 'failing',
    cases: { total: 42, passed: 37, failed: 2, errored: 1, skipped: 2 },
    skipped_excluded: true,
    completeness: 'partial',
    evaluated_at: '2026-01-02T03:04:05Z',
    suite: { name: 'safety', version: '2026.4' },
    blocking_failures: ['refuses to reveal card numbers'],
    max_severity: 3,
    results_sha256: 'cd'.repeat(32),
    run_url: 'https://ci.example.com/runs/7',
    trace_ids: ['run-0001'],
    artifact,
  });
  const { page, pageErrors } = await workspace.visit('viewer', `evaluations/${id}`);
  await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor();
  const fact = (name: string) => page.locator('dl > div', { has: page.getByText(name, { exact: true }) }).locator('dd');
  const expectedFacts = {
    Cases: '37 of 42 passed, 2 failed, 1 errored, 2 skipped (not counted)',
    Completeness: 'partial',
    Suite: 'safety 2026.4',
    'Highest severity': '3',
    'Blocking failures': 'refuses to reveal card numbers',
  };
  for (const [name, text] of Object.entries(expectedFacts)) expect([name, await fact(name).innerText()]).toEqual([name, text]);
  expect(await fact('Evaluated').locator('time').getAttribute('datetime')).toBe('2026-01-02T03:04:05.000Z');
  expect(await page.getByRole('link', { name: 'https://ci.example.com/runs/7' }).getAttribute('rel')).toBe('noopener noreferrer');
  await page.getByRole('button', { name: "Copy the artifact's digest" }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(artifact);
  await page.getByRole('link', { name: 'run-0001' }).click();
  await page.waitForURL(/runs\?text=run-0001/);
  expect(pageErrors).toEqual([]);
});

test('the harness filter applies only complete IDs', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'bot', harness_id: HARNESS });
  const { page } = await workspace.visit('viewer', 'evaluations');
  const harness = page.getByRole('textbox', { name: 'Harness' });
  await harness.fill(HARNESS.slice(0, 20));
  await page.getByText('Enter a complete ID.').waitFor();
  await page.waitForTimeout(500);
  expect(new URL(page.url()).search).toBe('');
  await page.getByRole('link', { name: 'nightly' }).waitFor();
  await harness.fill(HARNESS.replace('0', '1'));
  await page.getByText('No matches').waitFor();
  await harness.fill(HARNESS);
  await page.getByRole('link', { name: 'nightly' }).waitFor();
  await page.waitForURL(new RegExp(HARNESS));
  expect(await page.getByText('Enter a complete ID.').count()).toBe(0);
  await page.goto(`/w/${workspace.id}/evaluations?harness_id=abc`);
  await page.getByRole('link', { name: 'nightly' }).waitFor();
});

test('the chart of pass rates says that it shows only the latest 200 evaluations', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'bot', status: 'passing', pass_rate: 90 });
  const { page } = await workspace.visit('viewer', 'agents');
  const respond = (change: (points: object[]) => object[]) =>
    page.context().route('**/pass-rates*', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { points: object[] };
      const first = body.points[0];
      await route.fulfill({ response, json: { ...body, points: change(Array.from({ length: 200 }, () => first!)), more: true } });
    });
  await respond((points) => points);
  await page.getByRole('link', { name: 'bot' }).click();
  await page.getByText('Only the latest 200 evaluations are shown.').waitFor();
  await page.context().unroute('**/pass-rates*');
  await respond((points) => points.map((each) => ({ ...each, pass_rate: null })));
  await page.reload();
  await page.getByText('None of the latest 200 evaluations of this agent reported a pass rate.').waitFor();
});
