import { expect, test } from 'vitest';
import { newWorkspace, paths } from './harness.ts';

test('the overview names a row that was changed in the database, what the log says and what to do, until it is put back', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'bot', status: 'passing', pass_rate: 91 });
  const { server } = workspace;
  const setRisk = async (level: string) => {
    await server.database.sql('UPDATE countersign.agents SET risk_level = $2 WHERE tenant_id = $1', [workspace.id, level]);
    await server.compareTables();
  };
  const { page, pageErrors } = await workspace.visit('viewer');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const notice = page.getByRole('alert').filter({ hasText: 'The database was changed outside Countersign' });
  expect(await notice.count()).toBe(0);
  await setRisk('high');
  await page.reload();
  await notice.waitFor();
  expect(await notice.innerText()).toMatch(/Agent \S+: its risk level is high, the log says low/);
  expect(await notice.innerText()).toContain('countersign-server ledger verify --log all');
  await setRisk('low');
  await page.reload();
  await page.getByText('can be promoted').first().waitFor();
  expect(await notice.count()).toBe(0);
  expect(pageErrors).toEqual([]);
});
