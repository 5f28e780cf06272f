import { expect, test } from 'vitest';
import { newWorkspace, paths, waitUntilLoaded } from './harness.ts';

test('the page of a decision shows the exact times of the decision and its evidence in the time zone of the reader', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'passing', pass_rate: 95 });
  const { decision_id } = await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer', `decisions/${decision_id}`, { timezoneId: 'Asia/Kolkata' });
  await waitUntilLoaded(page);
  const times = await page.getByRole('main').locator('time').allInnerTexts();
  // The decision, the time when the evidence was read, and the evaluation.
  expect(times).toHaveLength(3);
  for (const time of times) expect(time).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d GMT\+5:30 \((just now|1 min\. ago)\)$/);
});
