import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { afterFile } from '../../server/test/harness/after-file.ts';
import { newWorkspace, paths } from './harness.ts';

test('the browser verifies the chain and reports a row that was altered in the database', async () => {
  const workspace = await newWorkspace();
  for (let number = 1; number <= 30; number += 1)
    await workspace.send(paths.audit, { actor: 'ci:deploy-prod', action: 'agent.promoted', subject: `bot-${number}` });
  const { page, pageErrors } = await workspace.visit('viewer', 'ledger');
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText(/Ledger verified: 30 entries/).waitFor();
  await page.getByText(/The checkpoint is signed by countersign\//).waitFor();

  // An attacker with all rights on the database can do this.
  const { sql } = workspace.server.database;
  await sql('ALTER TABLE countersign.audit_entries DISABLE TRIGGER ALL');
  await sql(
    `UPDATE countersign.audit_entries SET document = replace(document, 'bot-17', 'bot-99') WHERE tenant_id = $1 AND seq = 17`,
    [workspace.id],
  );
  await page.getByRole('button', { name: 'Verify again' }).click();
  await page.getByText('Entry 17 is not valid').waitFor();
  await page.getByText(/the row was altered/).waitFor();
  await page.getByText('16 entries before it are valid.', { exact: false }).waitFor();
  await page.getByRole('link', { name: 'View entry 17' }).click();
  await page.getByText('This entry is not valid').waitFor();
  expect(pageErrors).toEqual([]);
});

test('the page of an entry reports altered columns and a deleted next entry', async () => {
  const workspace = await newWorkspace();
  for (const action of ['agent.promoted', 'agent.retired', 'agent.deleted'])
    await workspace.send(paths.audit, { actor: 'ci', action });
  const { page } = await workspace.visit('viewer', 'ledger/1');
  await page.getByText('The hash of this entry matches its content').waitFor();

  const { sql } = workspace.server.database;
  await sql('ALTER TABLE countersign.audit_entries DISABLE TRIGGER ALL');
  await sql(`UPDATE countersign.audit_entries SET recorded_by = 'operator' WHERE tenant_id = $1 AND seq = 1`, [workspace.id]);
  await sql('DELETE FROM countersign.audit_entries WHERE tenant_id = $1 AND seq = 3', [workspace.id]);
  await page.reload();
  await page.getByText('This entry is not valid').waitFor();
  await page.getByText(/The column "recorded_by" is "operator", but the hashed text says "key:/).waitFor();
  await page.getByRole('link', { name: 'Next', exact: true }).click();
  await page.getByText('The next entry is missing: the ledger has 3 entries.').waitFor();
  expect(await page.getByText('Last entry, no next entry yet').count()).toBe(0);
});

test('the browser verifies with the current keys of the server, even if the cache of the browser has older keys', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.audit, { actor: 'ci', action: 'agent.promoted' });
  const { page } = await workspace.visit('viewer', 'ledger');
  const url = await startProxyWithOlderKeys(workspace.server.url);
  await page.goto(`${url}/w/${workspace.id}/ledger`);
  const publishedKeys = (cache: 'default' | 'reload') =>
    page.evaluate(`fetch('/.well-known/jwks.json', { cache: '${cache}' }).then((response) => response.json())`);
  expect(await publishedKeys('reload')).toEqual({ keys: [] });
  expect(await publishedKeys('default')).toEqual({ keys: [] });
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText(/Ledger verified: 1 entry/).waitFor();
});

/** Returns the URL of a proxy that forwards requests to a server. It responds to the first request for the keys with an empty list. */
async function startProxyWithOlderKeys(target: string): Promise<string> {
  let isFirst = true;
  const proxy = createServer((incoming, response) => {
    if (isFirst && incoming.url === '/.well-known/jwks.json') {
      isFirst = false;
      const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' };
      return response.writeHead(200, headers).end('{"keys":[]}');
    }
    const { method, headers } = incoming;
    const outgoing = request(target + incoming.url, { method, headers }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode!, upstreamResponse.headers);
      upstreamResponse.pipe(response);
    });
    return incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  afterFile(() => proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('the browser reports an export that ends after the first of two entries', async () => {
  const workspace = await newWorkspace();
  for (const action of ['agent.promoted', 'agent.retired']) await workspace.send(paths.audit, { actor: 'ci', action });
  const { page } = await workspace.visit('viewer', 'ledger');
  await page.context().route('**/ledger/export*', async (route) => {
    const response = await route.fetch();
    const [firstLine] = (await response.text()).split('\n');
    await route.fulfill({ response, body: `${firstLine}\n` });
  });
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('The ledger is not valid').waitFor();
  await page.getByText('1 entry forms a valid chain.', { exact: false }).waitFor();
});

test('the list of logs offers a checkpoint and reports a log whose head was changed in the database', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'bot', spans: [] });
  const { page, pageErrors } = await workspace.visit('viewer', 'ledger');
  const logs = page.getByRole('table', { name: 'Logs' });
  await logs.getByRole('row', { name: /Trace log .* 1/ }).waitFor();
  const link = page.getByRole('link', { name: 'Checkpoint of the trace log' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  expect(download.suggestedFilename()).toBe('checkpoint-traces-1.txt');

  const { sql } = workspace.server.database;
  await sql(`UPDATE countersign.log_heads SET seq = 7 WHERE tenant_id = $1 AND log = 'traces'`, [workspace.id]);
  await page.reload();
  await page.getByText('The trace log was changed in the database').waitFor();
  await page.getByText(/its seal is not valid/).waitFor();
  await logs.getByRole('row', { name: /Trace log .* changed/ }).waitFor();
  expect(await page.getByRole('link', { name: 'Checkpoint of the trace log' }).count()).toBe(0);
  expect(pageErrors).toEqual([]);
});

test('a verification can be canceled', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.audit, { actor: 'ci', action: 'agent.promoted' });
  const { page } = await workspace.visit('viewer', 'ledger');
  // The export gets no response, so the verification runs until it is canceled.
  await page.context().route('**/ledger/export*', () => undefined);
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('0 of 1 entry').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Canceled after 0 entries').waitFor();
});

test('the ledger page keeps a filter in the URL, and the filter does not apply to the download', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.audit, { actor: 'ci:one', action: 'agent.promoted', subject: 'first' });
  await workspace.send(paths.audit, { actor: 'ci:two', action: 'agent.retired', subject: 'second' });
  const { page } = await workspace.visit('viewer', 'ledger');
  await page.getByLabel('Action').selectOption('agent.retired');
  await page.waitForURL(/action=agent\.retired/);
  await page.getByText('first').waitFor({ state: 'detached' });
  await expect.poll(() => page.getByRole('table', { name: 'Ledger entries' }).locator('tbody tr').count()).toBe(1);
  await page.reload();
  expect(await page.getByLabel('Action').inputValue()).toBe('agent.retired');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Whole ledger (NDJSON)' }).click(),
  ]);
  const text = await (await import('node:fs/promises')).readFile(await download.path(), 'utf8');
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).subject),
  ).toEqual(['first', 'second']);
});

test('the actor filter distinguishes a person from a program with the same name, and the URL has only the ID of the person', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.audit, { actor: 'ci:one', action: 'agent.promoted' });
  const { page, browser, id, email } = await workspace.visit('admin', 'ledger');
  await browser.call('PATCH', '/account', { name: 'ci:one' }); // The name of a person can equal the name of a program.
  await browser.call('PATCH', `/workspaces/${workspace.id}/settings`, { name: `renamed ${workspace.id}` });
  await page.reload();
  const rows = page.getByRole('table', { name: 'Ledger entries' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(2);
  const actor = page.getByLabel('Actor', { exact: true });
  const readOptions = () => page.locator('datalist option').evaluateAll((all) => all.map((each) => each.getAttribute('value')));
  await expect.poll(readOptions).toEqual([`ci:one, ${email}`]);
  await actor.fill(`CI:one, ${email}`);
  await page.waitForURL(`**/ledger?actor=user%3A${id}`);
  await expect.poll(() => rows.count()).toBe(1);
  await rows.getByText('workspace.renamed').waitFor();
  await page.reload();
  await expect.poll(() => actor.inputValue()).toBe(`ci:one, ${email}`);
  await actor.press('End');
  await actor.press('Backspace');
  expect(await actor.inputValue()).toBe(`ci:one, ${email}`.slice(0, -1));
  await actor.fill('ci:one');
  await page.waitForURL('**/ledger?actor=ci%3Aone');
  await expect.poll(() => rows.count()).toBe(1);
  await rows.getByText('agent.promoted').waitFor();
});

test('people whose names look the same are shown with their email addresses', async () => {
  const workspace = await newWorkspace();
  const [first, second] = [await workspace.visit('admin', 'ledger'), await workspace.visit('admin', 'ledger')];
  await first.browser.call('PATCH', '/account', { name: 'Zoë Lovelace' });
  await second.browser.call('PATCH', '/account', { name: 'Zoe\u0308\u00a0 Lovelace' });
  await second.browser.call('PATCH', `/workspaces/${workspace.id}/settings`, { name: `renamed ${workspace.id}` });
  await first.page.reload();
  await first.page.getByText(second.email).first().waitFor();
});
