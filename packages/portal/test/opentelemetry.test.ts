import { expect, test } from 'vitest';
import { ownerEnvironmentOf, runCommand } from '../../server/test/fixtures/run-command.ts';
import { chatRun, id, jsonExport, newTrace, pairs, type TestSpan } from '../../server/test/otlp/test-exports.ts';
import { newWorkspace, paths, type Workspace } from './harness.ts';

/** On a busy machine, a refresh can take longer than its five-second interval. */
const BUSY = { timeout: 30_000 };

const FINDING = {
  'gen_ai.evaluation.name': 'relevance',
  'gen_ai.evaluation.score.value': 0.75,
  'gen_ai.evaluation.score.label': 'good',
  'gen_ai.evaluation.explanation': 'It answers the question.',
};

const post = async ({ server, key }: Workspace, path: string, body: unknown) => {
  const headers = { 'content-type': 'application/json', 'x-service-key': key };
  const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
};
const sendSpans = (workspace: Workspace, spans: readonly TestSpan[]) =>
  post(workspace, '/v1/traces', jsonExport(spans, { 'service.name': 'checkout-service' }));

test('a run without its root span is arriving and has a provisional agent; its page refreshes until that span arrives', async () => {
  const workspace = await newWorkspace();
  const traceId = newTrace();
  const [child, root] = chatRun(traceId) as [TestSpan, TestSpan];
  await sendSpans(workspace, [child]);
  const { page, pageErrors } = await workspace.visit('viewer', 'runs');
  await page.getByRole('row', { name: new RegExp(`${traceId}.*arriving`) }).waitFor(BUSY);
  await page.getByRole('link', { name: traceId }).click();
  await page.getByText('The root span has not arrived yet. This page refreshes until the run has an outcome.').waitFor(BUSY);
  await page.getByText('checkout-service (provisional, not registered)').waitFor(BUSY);

  await sendSpans(workspace, [root]);
  await page.getByRole('link', { name: 'otlp-bot' }).waitFor(BUSY);
  await page.getByText('success', { exact: true }).first().waitFor(BUSY);
  expect(await page.getByText('The root span has not arrived yet').count()).toBe(0);

  let refreshes = 0;
  page.on('request', (request) => {
    // Requests for the spans of the run do not count, because they may start after the outcome is shown.
    if (/\/api\/portal\/.*\/traces\/[^/]+$/.test(request.url())) refreshes += 1;
  });
  await page.waitForTimeout(6_000);
  expect([refreshes, pageErrors]).toEqual([0, []]);
});

test('a run without a root span is shown as incomplete 16 minutes after its last span', async () => {
  const workspace = await newWorkspace();
  const traceId = newTrace();
  await sendSpans(workspace, [chatRun(traceId)[0]!]);
  await workspace.server.database.sql(
    `UPDATE countersign.traces SET last_span_at = last_span_at - interval '16 minutes' WHERE tenant_id = $1`,
    [workspace.id],
  );
  const { page } = await workspace.visit('viewer', 'runs?outcome=incomplete');
  await page.getByRole('link', { name: traceId }).click();
  await page.getByText('It is unknown how this run ended.').waitFor(BUSY);
  await page.getByText('incomplete', { exact: true }).first().waitFor(BUSY);
});

test('the page of a run marks the requests in which a user ID was overwritten', async () => {
  const workspace = await newWorkspace();
  const traceId = newTrace();
  const [child, root] = chatRun(traceId) as [TestSpan, TestSpan];
  await sendSpans(workspace, [{ ...root, attributes: { ...root.attributes, 'user.id': 'ada@example.com' } }]);
  await sendSpans(workspace, [child]);
  const { page } = await workspace.visit('viewer', 'runs');
  await page.getByRole('link', { name: traceId }).click();
  const requests = page.getByRole('table', { name: 'Original requests' }).locator('tbody tr td:first-child');
  await expect.poll(() => requests.allInnerTexts(), BUSY).toEqual(['Request 1 · user ID overwritten', 'Request 2']);
});

test('the overview counts a run without a root span as a run, but not as "other than success"', async () => {
  const workspace = await newWorkspace();
  await sendSpans(workspace, [chatRun(newTrace())[0]!]);
  for (const outcome of ['success', 'failure', 'completed'])
    await workspace.send(paths.telemetry, { trace_id: outcome, outcome, agent_name: 'bot' });
  const { page } = await workspace.visit('viewer');
  await page.getByText('2 other than success').waitFor(BUSY);
  expect(await page.getByRole('img', { name: /^Runs by day: 4 in 14 days/ }).count()).toBe(1);
  await page
    .getByText('All stored traces and telemetry events are counted, also arriving and incomplete traces.', { exact: false })
    .waitFor();
});

test('the page of a run shows findings in a separate table, and the list of evaluations does not show them', async () => {
  const workspace = await newWorkspace();
  const traceId = newTrace();
  await sendSpans(workspace, chatRun(traceId));
  const record = { traceId, spanId: id(2), eventName: 'gen_ai.evaluation.result', attributes: pairs(FINDING) };
  await post(workspace, '/v1/logs', { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
  const { page } = await workspace.visit('viewer', 'runs');
  await page.getByRole('link', { name: traceId }).click();
  const row = page.getByRole('table', { name: 'Findings' }).getByRole('row', { name: /relevance/ });
  await row.waitFor(BUSY);
  const text = await row.innerText();
  for (const value of ['0.75', 'good', 'It answers the question.']) expect(text).toContain(value);
  await page.goto(`/w/${workspace.id}/evaluations`);
  await page.getByText('No evaluations yet').waitFor(BUSY);
});

test('the empty list of runs shows the OpenTelemetry variables with the URL of this server', async () => {
  const workspace = await newWorkspace();
  const { page } = await workspace.visit('viewer', 'runs');
  const variables = page.getByText(/OTEL_EXPORTER_OTLP_ENDPOINT=/);
  await variables.waitFor(BUSY);
  const lines = (await variables.innerText()).split('\n');
  expect(lines).toEqual([
    `OTEL_EXPORTER_OTLP_ENDPOINT=${workspace.server.url}`,
    'OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
    'OTEL_EXPORTER_OTLP_HEADERS=x-service-key=$COUNTERSIGN_API_KEY',
    'OTEL_METRICS_EXPORTER=none',
  ]);
});

test('the page of a run marks a request that was deleted because it also contained an erased run', async () => {
  const workspace = await newWorkspace();
  const [erasedId, keptId] = [newTrace(), newTrace()];
  await sendSpans(workspace, [...chatRun(erasedId), ...chatRun(keptId)]);
  await sendSpans(workspace, chatRun(keptId));
  const names = ['--workspace', workspace.name, '--trace', erasedId];
  const { status } = await runCommand(
    ownerEnvironmentOf(workspace.server),
    'runs',
    'erase',
    ...names,
    '--rationale',
    'request 7',
  );
  expect(status).toBe(0);
  const { page } = await workspace.visit('viewer', 'runs');
  await page.getByRole('link', { name: keptId }).click();
  const rows = page.getByRole('table', { name: 'Original requests' }).locator('tbody tr');
  await expect.poll(() => rows.count(), BUSY).toBe(2);
  expect(await rows.locator('td:first-child').allInnerTexts()).toEqual(['Request 1 · deleted', 'Request 2']);
  expect(await rows.first().getByRole('link').count()).toBe(0);
  expect(await rows.first().locator('td').nth(2).innerText()).toBe('–');
  await page.getByText('A request marked as deleted also contained another run, which was erased.', { exact: false }).waitFor();
});
