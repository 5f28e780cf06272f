import { expect, test } from 'vitest';
import { decideEvaluation } from '../../server/src/workspace/decide-evaluation.ts';
import { openIncident } from '../../server/src/workspace/open-incident.ts';
import { createHighRiskAgent, newWorkspace, paths } from './harness.ts';

test('the overview reports a row that was changed in the database, until the row is restored', async () => {
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
  expect(await notice.innerText()).toContain(`countersign-server ledger verify --workspace ${workspace.id} --log all`);
  await setRisk('low');
  await page.reload();
  await page.getByText('can be promoted').first().waitFor();
  expect(await notice.count()).toBe(0);
  expect(pageErrors).toEqual([]);
});

test('the overview and the page of a run report a column that differs from the documents of the run', async () => {
  const workspace = await newWorkspace();
  const { id } = await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'bot', total_tokens: 12 });
  const { server } = workspace;
  const setTokens = async (tokens: number) => {
    await server.database.sql('UPDATE countersign.traces SET total_tokens = $2 WHERE tenant_id = $1', [workspace.id, tokens]);
    await server.verifyLogs();
  };
  await setTokens(1);
  const { page, pageErrors } = await workspace.visit('viewer');
  const notice = page.getByRole('alert').filter({ hasText: 'The database was changed outside Countersign' });
  const difference = `Run ${id}: the column total_tokens is 1, its documents say 12`;
  await notice.waitFor();
  expect(await notice.innerText()).toContain(difference);
  await page.goto(`/w/${workspace.id}/runs/traces/${id}`);
  await page.getByRole('heading', { name: 'run-1' }).waitFor();
  expect(await notice.innerText()).toContain(difference);
  await setTokens(12);
  await page.reload();
  await page.getByRole('heading', { name: 'run-1' }).waitFor();
  expect(await notice.count()).toBe(0);
  expect(pageErrors).toEqual([]);
});

test('the overview names the ingestion key whose row was changed', async () => {
  const workspace = await newWorkspace();
  const { server } = workspace;
  const change = "UPDATE countersign.ingestion_keys SET name = 'other' WHERE tenant_id = $1 RETURNING prefix";
  const [row] = await server.database.sql<{ prefix: string }>(change, [workspace.id]);
  await server.verifyLogs();
  const { page } = await workspace.visit('viewer');
  const notice = page.getByRole('alert').filter({ hasText: 'The database was changed outside Countersign' });
  await notice.waitFor();
  expect(await notice.innerText()).toContain(`Ingestion key ${row!.prefix}: its ID, kind or name is different`);
});

test('the overview names the run whose merged steps or sums differ from its submissions', async () => {
  const workspace = await newWorkspace();
  const spans = (name: string) => [{ span_id: name, kind: 'llm', name, prompt_tokens: 5 }];
  await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'bot', spans: spans('one') });
  const { id } = await workspace.send(paths.traces, { trace_id: 'run-1', agent_name: 'bot', spans: spans('two') });
  const { server } = workspace;
  for (const table of ['merged_spans', 'merged_traces'])
    await server.database.sql(`DELETE FROM countersign.${table} WHERE tenant_id = $1`, [workspace.id]);
  await server.verifyLogs();
  const { page } = await workspace.visit('viewer');
  const notice = page.getByRole('alert').filter({ hasText: 'The database was changed outside Countersign' });
  await notice.waitFor();
  expect(await notice.innerText()).toContain(`Run ${id}: the steps of this trace differ from its newest submissions`);
  expect(await notice.innerText()).toContain(`Run ${id}: the sums of this trace differ from its steps`);
});

test('the overview and the page of the audit ledger report an altered row of the ledger', async () => {
  const workspace = await newWorkspace();
  await workspace.send(paths.audit, { actor: 'ci', action: 'deployed' });
  const { server } = workspace;
  const setActor = async (actor: string) => {
    await server.database.sql('ALTER TABLE countersign.audit_entries DISABLE TRIGGER ALL');
    await server.database.sql('UPDATE countersign.audit_entries SET actor = $2 WHERE tenant_id = $1', [workspace.id, actor]);
    await server.verifyLogs();
  };
  await setActor('mallory');
  const { page, pageErrors } = await workspace.visit('viewer');
  const notice = page.getByRole('alert').filter({ hasText: 'The database was changed outside Countersign' });
  await notice.waitFor();
  expect(await notice.innerText()).toMatch(/Audit ledger, row 1: .*actor/);
  await page.goto(`/w/${workspace.id}/ledger`);
  await notice.waitFor();
  expect(await notice.innerText()).toMatch(/Audit ledger, row 1: .*actor/);
  await setActor('ci');
  await page.reload();
  await page.getByRole('heading', { name: 'Logs of this workspace' }).waitFor();
  expect(await notice.count()).toBe(0);
  expect(pageErrors).toEqual([]);
});

test('the pages of an approval and an incident report a row that differs from the audit ledger, or a changed ledger head', async () => {
  const workspace = await newWorkspace();
  const agent = await createHighRiskAgent(workspace, 'bot');
  const { server, id } = workspace;
  const [evaluation] = await server.database.sql<{ id: string }>('SELECT id FROM countersign.evaluations WHERE tenant_id = $1', [
    id,
  ]);
  const decision = { evaluationId: evaluation!.id, status: 'approved', rationale: 'seen the runs' } as const;
  await decideEvaluation(server.open.pool, id, decision, 'operator');
  const reported = { agent: { id: agent }, severity: 'high', description: 'it lied', recertify: true } as const;
  const incident = await openIncident(server.open.pool, id, reported, 'operator');
  const { page } = await workspace.visit('viewer', `approvals/${evaluation!.id}`);
  await page.getByText('seen the runs').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await server.database.sql(`UPDATE countersign.approvals SET rationale = 'all read' WHERE tenant_id = $1`, [id]);
  await page.reload();
  const alert = page.getByRole('alert').filter({ hasText: 'The audit ledger does not confirm this approval' });
  await alert.waitFor();
  expect(await alert.innerText()).toMatch(/The rationale is "all read", but entry \d+ of the audit ledger says "seen the runs"/);

  await page.goto(`/w/${id}/incidents/${incident}`);
  await page.getByText('it lied').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await server.database.sql('DELETE FROM countersign.recertifications WHERE tenant_id = $1', [id]);
  await page.reload();
  const incidentAlert = page.getByRole('alert').filter({ hasText: 'The audit ledger does not confirm this incident' });
  await incidentAlert.waitFor();
  await server.database.sql(
    `UPDATE countersign.log_heads SET seq = seq + 1, tree_size = tree_size + 1 WHERE tenant_id = $1 AND log = 'audit'`,
    [id],
  );
  await page.reload();
  await incidentAlert.getByText('The head of the log audit').waitFor();
});
