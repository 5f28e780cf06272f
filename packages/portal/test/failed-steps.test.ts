import { expect, test } from 'vitest';
import { newWorkspace, paths } from './harness.ts';

/** A run of 300 steps in groups of ten. Steps 47 and 283 failed. */
const run = {
  trace_id: 'run-with-failures',
  agent_name: 'support-bot',
  spans: Array.from({ length: 300 }, (_each, index) => ({
    span_id: `s${index}`,
    ...(index === 0 ? {} : { parent_span_id: index % 10 === 0 ? 's0' : `s${index - (index % 10)}` }),
    kind: 'tool',
    name: `step ${index}`,
    ...(index === 47 ? { error: 'The order service did not answer.' } : {}),
    ...(index === 283 ? { status: 'failure' } : {}),
  })),
};

test('a button selects the next failed step of a run, even below a collapsed step, and the ID of the run can be copied', async () => {
  const workspace = await newWorkspace();
  const { id } = await workspace.send(paths.traces, run);
  const { page, pageErrors } = await workspace.visit('viewer', `runs/traces/${id}`);
  await page.getByText('300 in total, 2 failed').waitFor();
  const tree = page.getByRole('tree');
  await tree.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowLeft');
  await tree.getByRole('treeitem', { expanded: false }).waitFor();
  const next = page.getByRole('button', { name: 'Next failed step' });
  for (const step of ['step 47', 'step 283', 'step 47']) {
    await next.click();
    await tree.getByRole('treeitem', { name: step, selected: true }).waitFor();
    await page.getByRole('heading', { name: step }).waitFor();
  }
  await page.waitForURL(/step=s47/);
  await page.getByRole('button', { name: 'Copy run ID' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('run-with-failures');
  expect(pageErrors).toEqual([]);
});

test('the page of a run without failed steps has no button "Next failed step"', async () => {
  const workspace = await newWorkspace();
  const spans = [{ span_id: 's0', kind: 'llm', name: 'plan' }];
  const { id } = await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'support-bot', spans });
  const { page } = await workspace.visit('viewer', `runs/traces/${id}`);
  await page.getByText('1 in total', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Next failed step' }).count()).toBe(0);
});
