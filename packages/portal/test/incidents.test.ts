import { expect, test } from 'vitest';
import { newWorkspace, paths } from './harness.ts';

test('a page shows its first tab if the tab in the URL is unknown', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('admin', 'incidents?tab=other');
  await page.getByText('No incidents').waitFor();
  await page.goto(`/w/${workspace.id}/keys?tab=other`);
  await page.getByRole('table', { name: 'Keys' }).waitFor();
});

test('an incident blocks promotions until its re-certification is closed with a newer passing evaluation', async () => {
  const workspace = await newWorkspace();
  const { send } = workspace;
  const promotionReason = async () => (await send(paths.promotionCheck, { agent_name: 'support-bot' })).reason;
  await send(paths.evaluations, { name: 'before', agent_name: 'support-bot', status: 'passing', pass_rate: 95 });
  expect(await promotionReason()).toBe('all_conditions_met');

  const { page, pageErrors } = await workspace.visit('admin', 'incidents');
  await page.getByRole('button', { name: 'Open incident' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Open incident' }).click();
  await dialog.getByText('This is required').first().waitFor();
  await dialog.getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: 'support-bot' }).click();
  await dialog.getByLabel('What happened').fill('Promised a refund above its limit.');
  await dialog.getByRole('button', { name: 'Open incident' }).click();
  await page.getByRole('heading', { name: 'Incident with support-bot' }).waitFor();
  expect(await promotionReason()).toBe('recertification_open');

  const close = page.getByRole('main').getByRole('button', { name: 'Close re-certification' });
  expect(await close.isDisabled()).toBe(true);

  // Closing is possible when the dialog is opened, but no longer when it is submitted.
  await send(paths.evaluations, { name: 'after', agent_name: 'support-bot', status: 'passing', pass_rate: 97 });
  await page.reload();
  await close.click();
  await send(paths.evaluations, { name: 'once more', agent_name: 'support-bot', status: 'failing', pass_rate: 40 });
  await dialog.getByLabel('Rationale').fill('It will be fine.');
  await dialog.getByRole('button', { name: 'Close re-certification' }).click();
  await dialog.getByRole('alert').waitFor();
  await expect.poll(() => close.isDisabled(), { timeout: 20_000 }).toBe(true);
  expect(await dialog.getByLabel('Rationale').inputValue()).toBe('It will be fine.');
  expect(await promotionReason()).not.toBe('all_conditions_met');

  // When the dialog was opened, the page showed an earlier evaluation. So the dialog must be opened again.
  await send(paths.evaluations, { name: 'mended', agent_name: 'support-bot', status: 'passing', pass_rate: 97 });
  await dialog.getByRole('button', { name: 'Close re-certification' }).click();
  await dialog.getByText('the page did not show the latest evaluation').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('main').getByRole('link', { name: 'mended' }).waitFor();
  await close.click();
  await dialog.getByLabel('Rationale').fill('Evaluated again with the case of the incident.');
  await dialog.getByRole('button', { name: 'Close re-certification' }).click();
  await page.getByText('Re-certification closed. It no longer blocks the agent.').waitFor();
  await page.getByRole('main').getByText('Evaluated again with the case of the incident.').waitFor();
  expect(await promotionReason()).toBe('all_conditions_met');
  expect(pageErrors).toEqual([]);
});

test('a recorded policy violation appears in the list of violations and in the ledger', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.telemetry, { trace_id: 'run-1', outcome: 'success', agent_name: 'support-bot' });
  const { page } = await workspace.visit('admin', 'incidents?tab=violations');
  await page.getByRole('button', { name: 'Record policy violation' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: 'support-bot' }).click();
  await dialog.getByLabel('Policy').fill('no-refunds-without-receipt');
  await dialog.getByLabel('What happened').fill('Refunded without a receipt.');
  await dialog.getByRole('button', { name: 'Record' }).click();
  await page.getByRole('link', { name: 'no-refunds-without-receipt' }).click();
  await page.getByRole('heading', { name: /Entry \d+: policy.violation/ }).waitFor();
  await page.getByText('The hash of this entry matches its content').waitFor();
});
