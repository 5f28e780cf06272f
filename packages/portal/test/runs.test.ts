import { expect, test } from 'vitest';
import { newWorkspace, paths } from './harness.ts';

/** On a busy machine, the default timeout of a poll is too short. */
const BUSY = { timeout: 20_000 };

const STEP_COUNT = 500;
/** From this index on, each step is a child of the previous one. */
const DEEP_FROM = 480;
const RIGHT_TO_LEFT = 'البحث عن الطلب في قاعدة البيانات ثم الرد على العميل';

const parentOf = (index: number): string => {
  if (index >= DEEP_FROM) return `s${index - 1}`;
  return index % 2 === 0 ? 's1' : 's0';
};

/**
 * A run with one root step. Odd steps are children of the root, even steps are children of step 1, and the steps from DEEP_FROM on form a
 * chain.
 */
const longRun = () => ({
  trace_id: 'long-run',
  agent_name: 'support-bot',
  started_at: '2026-11-20T09:30:00.000Z',
  spans: Array.from({ length: STEP_COUNT }, (_each, index) => ({
    span_id: `s${index}`,
    ...(index === 0 ? {} : { parent_span_id: parentOf(index) }),
    kind: index === 0 ? 'agent' : index % 3 === 0 ? 'tool' : 'llm',
    name: index === STEP_COUNT - 2 ? RIGHT_TO_LEFT : `step ${index}`,
    started_at: new Date(Date.UTC(2026, 10, 20, 9, 30, 0, index * 10)).toISOString(),
    latency_ms: 8,
    ...(index === 1
      ? {
          messages: [
            { role: 'user', content: 'Where is my order?' },
            {
              role: 'assistant',
              content: 'I look it up.',
              tool_calls: [{ function: { name: 'find_order', arguments: '{"id":7}' } }],
            },
          ],
        }
      : {}),
    ...(index === 3 ? { tool_arguments: { id: 7 }, tool_result: 'not found', error: 'the order is not there' } : {}),
  })),
});

test('the tree of a run of 500 steps renders fewer than 60 rows and can be read, scrolled and collapsed by keyboard', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.traces, longRun());
  const { page, pageErrors } = await workspace.visit('viewer', 'runs');
  await page.getByRole('link', { name: 'long-run' }).click();
  const tree = page.getByRole('tree');
  await tree.getByRole('treeitem').first().waitFor();
  expect(await tree.getByRole('treeitem').count()).toBeLessThan(60);

  await tree.focus();
  await page.keyboard.press('End');
  const selected = tree.locator('[role=treeitem][aria-selected=true]');
  await page.getByRole('treeitem', { name: /step 499/, selected: true }).waitFor();
  expect(await tree.getByRole('treeitem').count()).toBeLessThan(60);
  /** The visible width of a step's name, and how far it extends beyond the right edge of its row, in pixels. */
  const measureName = async (text: string) => {
    const name = tree.getByText(text, { exact: true });
    const [nameBox, rowBox] = await Promise.all([name.boundingBox(), name.locator('..').boundingBox()]);
    if (nameBox === null || rowBox === null) throw new Error(`${text} is not shown`);
    return {
      visiblePx: Math.min(nameBox.width, rowBox.width),
      beyondRightPx: nameBox.x + nameBox.width - (rowBox.x + rowBox.width),
    };
  };
  // The deepest step keeps a visible name, even on a phone. A right-to-left name is truncated at its left end.
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 860 });
    expect((await measureName('step 499')).visiblePx, `at ${width} pixels`).toBeGreaterThan(45);
    expect((await measureName(RIGHT_TO_LEFT)).beyondRightPx, `at ${width} pixels`).toBeLessThan(1);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.keyboard.press('Home');
  await page.getByRole('treeitem', { name: /step 0/, selected: true }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page
    .getByRole('treeitem', { name: /step 1 /, selected: true })
    .or(selected)
    .first()
    .waitFor();
  await page.getByText('Where is my order?').waitFor();
  await page.getByText('calls find_order').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page
    .getByRole('treeitem', { name: /step 1/, expanded: false })
    .first()
    .waitFor();
  await page.keyboard.press('ArrowDown');
  await page.getByText('the order is not there').first().waitFor();
  await page.getByRole('group', { name: 'tool result' }).waitFor();
  expect(pageErrors).toEqual([]);
});

test('a run of more than 5,000 steps shows the first 5,000 and loads more on demand', async () => {
  const workspace = await newWorkspace();
  for (let part = 0; part < 11; part += 1) {
    const spans = Array.from({ length: STEP_COUNT }, (_each, index) => ({
      span_id: `${part}-${index}`,
      kind: 'llm',
      name: `step ${part}-${index}`,
    }));
    await workspace.send(paths.traces, { trace_id: 'longest-run', spans });
  }
  const { page, pageErrors } = await workspace.visit('viewer', 'runs');
  await page.getByRole('link', { name: 'longest-run' }).click();
  await page.getByText('Showing the first 5,000 steps.').waitFor();
  await page.getByText('5,500 in total').waitFor();
  await page.getByRole('tree', { name: '5,000 steps of the run' }).waitFor();
  await page.getByRole('button', { name: 'Load more steps' }).click();
  const tree = page.getByRole('tree', { name: '5,500 steps of the run' });
  await tree.waitFor();
  expect(await page.getByText('Showing the first').count()).toBe(0);
  await tree.focus();
  await page.keyboard.press('End');
  await page.getByRole('treeitem', { name: /step 10-499/, selected: true }).waitFor();
  expect(pageErrors).toEqual([]);
});

test('the list of runs keeps its page and filters in the URL, so that Back works, and ignores invalid dates', async () => {
  const workspace = await newWorkspace();
  const events = Array.from({ length: 120 }, (_each, index) => ({
    trace_id: `run-${index}`,
    outcome: index % 10 === 0 ? 'failure' : 'success',
    agent_name: 'support-bot',
  }));
  await workspace.send(paths.telemetry, { events });
  const { page } = await workspace.visit('viewer', 'runs');
  const rows = page.getByRole('table', { name: 'Runs' }).locator('tbody tr');
  await rows.first().waitFor();
  const first = await rows.first().innerText();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.waitForURL(/cursor=/);
  await expect.poll(() => rows.first().innerText(), BUSY).not.toBe(first);
  await page.goBack();
  await expect.poll(() => rows.first().innerText(), BUSY).toBe(first);

  // "Previous page" also works after Back and after a reload. A page opened from a link offers "First page".
  const readFirstRun = async () => (await rows.first().innerText()).split('\n')[0];
  const firstRuns = [await readFirstRun()];
  for (const _page of [2, 3]) {
    await page.getByRole('button', { name: 'Next page' }).click();
    await expect.poll(readFirstRun, BUSY).not.toBe(firstRuns.at(-1));
    firstRuns.push(await readFirstRun());
  }
  expect(await page.evaluate('window.scrollY')).toBe(0);
  await page.goBack();
  await expect.poll(readFirstRun, BUSY).toBe(firstRuns[1]);
  await page.getByRole('button', { name: 'Previous page' }).click();
  await expect.poll(readFirstRun, BUSY).toBe(firstRuns[0]);
  await page.goBack();
  await page.getByRole('button', { name: 'Next page' }).click();
  await expect.poll(readFirstRun, BUSY).toBe(firstRuns[2]);
  await page.reload();
  await page.getByRole('button', { name: 'Previous page' }).click();
  await expect.poll(readFirstRun, BUSY).toBe(firstRuns[1]);
  const secondPageURL = page.url();
  await page.goto('about:blank');
  await page.goto(secondPageURL);
  await page.getByRole('button', { name: 'First page' }).click();
  await expect.poll(readFirstRun, BUSY).toBe(firstRuns[0]);

  await page.getByLabel('Outcome').selectOption('failure');
  await page.waitForURL(/outcome=failure/);
  await expect.poll(() => rows.count(), BUSY).toBe(12);
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await expect.poll(() => rows.count(), BUSY).toBe(50);

  // A typed space stays in the field after a pause, and a delayed update does not restore a cleared search.
  const search = page.getByRole('textbox', { name: 'Search' });
  await search.pressSequentially('run-7 ');
  await page.waitForURL(/text=run-7/);
  await expect.poll(() => rows.count(), BUSY).toBe(11);
  await search.pressSequentially('x');
  expect(await search.inputValue()).toBe('run-7 x');
  await page.getByRole('button', { name: 'Clear Search' }).click();
  await expect.poll(() => rows.count(), BUSY).toBe(50);
  await search.pressSequentially('run-7');
  await page.getByRole('button', { name: 'Clear Search' }).click();
  await page.waitForTimeout(500);
  expect([await search.inputValue(), new URL(page.url()).search]).toEqual(['', '']);

  // Invalid dates are ignored.
  await page.goto(`/w/${workspace.id}/runs?from=2026-13-45&to=2026-02-30&since=yesterday`);
  await expect.poll(() => rows.count(), BUSY).toBe(50);
  expect(await page.getByRole('button', { name: 'Clear', exact: true }).count()).toBe(0);
});

test('the day filters also narrow a list that a link has limited to exact times', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.traces, { trace_id: 'run-1', spans: [] });
  const { page } = await workspace.visit('viewer', 'runs?since=2020-01-01T00:00:00Z&before=9000-01-01T00:00:00Z');
  await page.getByRole('link', { name: 'run-1' }).waitFor();
  await page.getByLabel('From').fill('8999-01-01');
  await page.getByText('No matches').waitFor();
  await page.getByLabel('From').fill('2020-02-02');
  await page.getByRole('link', { name: 'run-1' }).waitFor();
  await page.getByLabel('To', { exact: true }).fill('2020-03-03');
  await page.getByText('No matches').waitFor();
});

test('a step shows its complete error, the fields that the contract does not name, and arguments with large numbers as sent', async () => {
  const workspace = await newWorkspace();
  const call = { function: { name: 'refund', arguments: '{"order_id":9007199254740993}' } };
  const { id } = await workspace.send(paths.traces, {
    trace_id: 'run-1',
    spans: [
      { span_id: 'a', kind: 'tool', name: 'failing', error: `${'x'.repeat(2_500)} the cause` },
      { span_id: 'b', kind: 'llm', name: 'custom', routing: { region: 'north' } },
      { span_id: 'c', kind: 'llm', name: 'calling', messages: [{ role: 'assistant', tool_calls: [call] }] },
    ],
  });
  const { page } = await workspace.visit('viewer', `runs/traces/${id}`);
  await page.getByRole('treeitem', { name: /failing/ }).click();
  await page.getByText('the cause').waitFor();
  await page.getByRole('treeitem', { name: /custom/ }).click();
  await page.getByText('"region": "north"').waitFor();
  await page.getByRole('treeitem', { name: /calling/ }).click();
  await page.getByText('{"order_id":9007199254740993}').waitFor();
});

test('only a step with a whole number above 2^53 says that such numbers can be rounded', async () => {
  const workspace = await newWorkspace();
  const span = { span_id: 'a', kind: 'tool', name: 'refund' };
  // A number literal in TypeScript would be rounded before it is sent.
  const body = JSON.stringify({
    trace_id: 'run-1',
    spans: [
      { ...span, tool_arguments: { order_id: 'LARGE' } },
      { ...span, span_id: 'b', name: 'lookup', tool_arguments: { order_id: 9007199254740991 } },
    ],
  }).replace('"LARGE"', '9007199254740993');
  const headers = { 'content-type': 'application/json', 'x-service-key': workspace.key };
  const response = await fetch(workspace.server.url + paths.traces, { method: 'POST', headers, body });
  const { id } = (await response.json()) as { id: string };
  const { page } = await workspace.visit('viewer', `runs/traces/${id}`);
  const note = page.getByText('can be rounded here');
  await page.getByRole('treeitem', { name: /refund/ }).click();
  await page.getByText('"order_id": 9007199254740992').waitFor();
  await note.waitFor();
  await page.getByRole('treeitem', { name: /lookup/ }).click();
  await page.getByText('"order_id": 9007199254740991').waitFor();
  expect(await note.count()).toBe(0);
});

test('the page of a run says that it lists only the latest 50 telemetry events and the first 200 findings', async () => {
  const workspace = await newWorkspace();
  const { id } = await workspace.send(paths.traces, { trace_id: 'run-1', spans: [] });
  const events = Array.from({ length: 51 }, () => ({ trace_id: 'run-1', outcome: 'success' }));
  await workspace.send(paths.telemetry, { events: events.slice(0, 49) });
  const finding = { span_id: 'a', name: 'relevance', score: 1, label: null, explanation: null, at: null, recorded_by: 'key:x' };
  let findings = 199;
  const { page } = await workspace.visit('viewer');
  await page.context().route(`**/api/portal/**/traces/${id}`, async (route) => {
    const response = await route.fetch();
    const json = { ...(await response.json()), findings: Array.from({ length: findings }, () => finding) };
    await route.fulfill({ response, json });
  });
  const hints = page.getByText(/Only the (latest 50 events|first 200 findings) are listed\./);
  await page.goto(`/w/${workspace.id}/runs/traces/${id}`);
  await page.getByRole('table', { name: 'Findings' }).waitFor();
  expect(await hints.count()).toBe(0);
  findings = 200;
  await workspace.send(paths.telemetry, { events: events.slice(0, 2) });
  await page.reload();
  await expect.poll(() => hints.count(), BUSY).toBe(2);
});
