import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { afterAll, expect, test } from 'vitest';
import { createPerson } from '../../server/test/harness/portal-browser.ts';
import { startPortalServer } from './harness.ts';
import { openWindow } from './window.ts';

const shells: ChildProcessWithoutNullStreams[] = [];
afterAll(() => {
  for (const shell of shells) shell.kill();
});

/** Starts a shell. The returned function runs a line in the shell and resolves with its output. */
function openShell(): (line: string) => Promise<string> {
  const environment = { ...process.env };
  delete environment.COUNTERSIGN_API_KEY;
  const shell = spawn('sh', [], { env: environment });
  shells.push(shell);
  let printed = '';
  shell.stdout.on('data', (chunk: Buffer) => {
    printed += String(chunk);
  });
  return async (line) => {
    printed = '';
    shell.stdin.write(`${line}\necho; echo pasted-line-ended\n`);
    while (!printed.includes('pasted-line-ended')) await new Promise((resolve) => shell.stdout.once('data', resolve));
    return printed.replace('pasted-line-ended', '').trim();
  };
}

test('the first steps need one key and pasted commands, and update without a reload; lists mark or hide the example agent', async () => {
  const server = await startPortalServer();
  const id = await server.workspace('acme');
  const someone = await createPerson(server, { [id]: 'admin' });
  const { page, pageErrors } = await openWindow({ baseURL: server.url, cookie: someone.browser.cookie });
  const paste = openShell();
  const done = (title: string) => page.locator('li[data-done]').getByRole('heading', { name: title });

  await page.goto(`/w/${id}/`);
  await page.getByRole('button', { name: 'Mint key' }).click();
  const dialog = page.getByRole('dialog');
  for (const scope of ['telemetry', 'evaluations', 'audit', 'governance'])
    expect(await dialog.getByRole('checkbox', { name: scope }).isChecked()).toBe(true);
  await dialog.getByRole('button', { name: 'Mint', exact: true }).click();
  await paste(await page.getByRole('group', { name: 'export command' }).innerText());
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await done('Mint an ingestion key').waitFor();

  // From here on the page updates without a click or reload.
  const steps = [
    ['/api/public/traces', 'Report a run'],
    ['/api/public/evaluations', 'Record an evaluation'],
    ['/api/public/governance/promotion-check', 'Request a promotion decision'],
  ] as const;
  for (const [path, title] of steps) {
    const output = await paste(await page.getByRole('group', { name: `curl command for ${path}` }).innerText());
    expect(JSON.parse(output)).not.toHaveProperty('error');
    await done(title).waitFor();
  }
  await page.getByText('All steps are done.').waitFor();
  const standings = page.getByRole('table', { name: 'Promotion status of agents' });
  await standings.getByText('example', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'View the signed decision' }).click();
  await page.getByRole('heading', { name: 'Allowed: example-agent' }).waitFor();
  await page.goto(`/w/${id}/agents`);
  await page.getByRole('table', { name: 'Agents' }).getByText('example', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'example-agent' }).click();
  await page.getByRole('button', { name: 'Archive' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await page.getByText('example-agent archived.').waitFor();
  await page.getByRole('button', { name: 'Restore' }).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
  await page.getByText('No active agents').waitFor();
  expect(await standings.count()).toBe(0);
  await page.goto(`/w/${id}/agents`);
  await page.getByRole('heading', { name: 'No active agents' }).waitFor();
  await page.getByLabel('Archived').selectOption('only');
  await page.getByRole('table', { name: 'Agents' }).getByText('example-agent').waitFor();
  expect(pageErrors).toEqual([]);
});
