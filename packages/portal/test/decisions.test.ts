import { readFileSync } from 'node:fs';
import { readTrustFile } from '@countersign/core/domain/trust-file';
import { expect, test } from 'vitest';
import { sha256, verifyEd25519 } from '../../server/src/crypto/digests.ts';
import { newWorkspace, paths } from './harness.ts';

/** A script that returns the results of all mutations in the page's cache of React Query, as JSON. */
const READ_MUTATION_RESULTS = `(() => {
  const root = document.getElementById('root');
  let fiber = root[Object.keys(root).find((name) => name.startsWith('__reactContainer$'))].stateNode.current;
  while (fiber.memoizedProps?.client === undefined) fiber = fiber.child;
  const mutations = fiber.memoizedProps.client.getMutationCache().getAll();
  return JSON.stringify(mutations.map(({ state }) => state.data ?? null));
})()`;

test('the page of a decision verifies hash, attestation, evidence and (with the decision key) HMAC, and rejects an altered copy', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'failing', pass_rate: 40 });
  const decision = await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page, pageErrors } = await workspace.visit('admin', 'decisions');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText('Verified: the decision is unaltered').waitFor();
  await page.getByText('Content hash: passed').waitFor();
  await page.getByText('Attestation (Ed25519, DSSE, in-toto): passed').waitFor();
  await page.getByText('Evidence: passed').waitFor();
  await page.getByText('Open re-certifications').waitFor();
  await page.getByText('Harness requested').waitFor();
  await page.getByText('Signature (HMAC-SHA256): not checked').waitFor();

  await page.getByRole('button', { name: 'Load key and verify' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Load key' }).click();
  await page.getByText('Signature (HMAC-SHA256): passed').waitFor();
  // The page promises to discard the key. React Query would keep it as a result after the person has left the page.
  expect(await page.evaluate(READ_MUTATION_RESULTS)).not.toContain('decision_key');
  const entries = await workspace.server.database.sql(
    `SELECT 1 FROM countersign.audit_entries WHERE tenant_id = $1 AND action = 'decision_key.shown'`,
    [workspace.id],
  );
  expect(entries).toHaveLength(1);

  const copy = page.getByRole('textbox', { name: 'Decision as JSON' });
  await copy.fill(JSON.stringify(decision));
  await page.getByRole('button', { name: 'Check copy' }).click();
  await page.getByText('Matches the attestation: passed').waitFor();
  await copy.fill(JSON.stringify({ ...decision, allowed: true }));
  await page.getByRole('button', { name: 'Check copy' }).click();
  await page.getByText('Hash of the copy: failed').waitFor();
  await page.getByText('Matches the attestation: failed').waitFor();
  expect(pageErrors).toEqual([]);
});

test('the page of a decision reports that the decision was altered in the database', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'failing', pass_rate: 40 });
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { sql } = workspace.server.database;
  await sql('ALTER TABLE countersign.decisions DISABLE TRIGGER ALL');
  await sql(
    `UPDATE countersign.decisions SET document = replace(document, '"actual_threshold":40', '"actual_threshold":99') WHERE tenant_id = $1`,
    [workspace.id],
  );
  const { page } = await workspace.visit('viewer', 'decisions');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText('Not verified: do not rely on this decision').waitFor();
  await page.getByText('Content hash: failed').waitFor();
});

test('the page of a decision reports a column that was altered in the database', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'failing', pass_rate: 40 });
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { sql } = workspace.server.database;
  await sql('ALTER TABLE countersign.decisions DISABLE TRIGGER ALL');
  await sql('UPDATE countersign.decisions SET allowed = true WHERE tenant_id = $1', [workspace.id]);
  const { page } = await workspace.visit('viewer', 'decisions');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText('Not verified: do not rely on this decision').waitFor();
  await page.getByText('The column "allowed" is true, but the hashed text says false.', { exact: false }).waitFor();
});

test('a decision is verified with the current keys, even if an earlier page loaded other keys', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'failing', pass_rate: 40 });
  for (const _each of [1, 2]) await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { page } = await workspace.visit('viewer', 'decisions');
  // The page gets an empty list of keys. It lacks the current key, as a list from before a rotation does.
  await page.route('**/.well-known/jwks.json', (route) => route.fulfill({ json: { keys: [] } }));
  const decisions = page.getByRole('table', { name: 'Decisions' }).getByRole('link', { name: 'support-bot' });
  await decisions.first().click();
  await page.getByText('Not verified: do not rely on this decision').waitFor();
  await page.unroute('**/.well-known/jwks.json');
  await page.getByRole('main').getByRole('link', { name: 'Decisions' }).click();
  await decisions.last().click();
  await page.getByText('Verified: the decision is unaltered').waitFor();
});

test('the list and the page of a decision show the requested name of an unknown agent', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.promotionCheck, { agent_name: 'suport-bot' });
  const { page, pageErrors } = await workspace.visit('viewer', 'decisions');
  const row = page.getByRole('table', { name: 'Decisions' }).locator('tbody tr', { hasText: 'suport-bot' });
  await row.getByText('unknown agent').waitFor();
  await row.getByRole('link', { name: 'suport-bot' }).click();
  await page.getByRole('heading', { name: 'Blocked: suport-bot' }).waitFor();
  await page.getByText('suport-bot (unknown)').waitFor();
  expect(pageErrors).toEqual([]);
});

test.each([
  ['an altered value', `replace(evidence, '"pass_rate":40', '"pass_rate":99')`],
  ['a time that does not exist', `regexp_replace(evidence, '("read_at":".{17})[0-9]{2}', '\\199')`],
])('the page of a decision reports evidence that has %s in the database', async (_what, altered) => {
  const workspace = await newWorkspace();
  await workspace.send(paths.evaluations, { name: 'nightly', agent_name: 'support-bot', status: 'failing', pass_rate: 40 });
  await workspace.send(paths.promotionCheck, { agent_name: 'support-bot' });
  const { sql } = workspace.server.database;
  await sql('ALTER TABLE countersign.decisions DISABLE TRIGGER ALL');
  const where = 'WHERE tenant_id = $1';
  const [before] = await sql<{ evidence: string }>(`SELECT evidence FROM countersign.decisions ${where}`, [workspace.id]);
  const [after] = await sql<{ evidence: string }>(
    `UPDATE countersign.decisions SET evidence = ${altered} ${where} RETURNING evidence`,
    [workspace.id],
  );
  expect(after).not.toEqual(before);
  const { page } = await workspace.visit('viewer', 'decisions');
  await page.getByRole('link', { name: 'support-bot' }).click();
  await page.getByText('Not verified: do not rely on this decision').waitFor();
  await page.getByText('Evidence: failed').waitFor();
});

test('the Signing page offers the trust file of the workspace as a download', async () => {
  const workspace = await newWorkspace();
  const { page, pageErrors } = await workspace.visit('viewer', 'signing');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe('trust.json');
  const file = JSON.parse(readFileSync(await download.path(), 'utf8'));
  expect(file).toMatchObject({ version: 1, workspace: { id: workspace.id }, keys: [{ kty: 'OKP', crv: 'Ed25519' }] });
  expect(readTrustFile(JSON.stringify(file), { sha256, verify: verifyEd25519 })).toMatchObject({
    workspace: { id: workspace.id },
  });
  expect(pageErrors).toEqual([]);
});
