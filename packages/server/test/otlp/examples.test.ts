import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PYTHON } from '../harness/independent-verifier.ts';
import { portalClient } from '../harness/portal-client.ts';
import { testServer } from '../harness/test-server.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../../../../examples/opentelemetry/', import.meta.url));

test.each([
  ['JavaScript', process.execPath, 'send-run.mjs'],
  ['Python', PYTHON, 'send_run.py'],
])('the example in %s sends a run with the documented variables', async (_, command, file) => {
  const server = await testServer();
  const workspace = await server.workspace();
  const viewer = await portalClient(server, workspace, 'viewer');
  const env = {
    ...process.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: server.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-service-key=${await server.key(workspace, ['telemetry'])}`,
  };
  const { stdout } = await run(command, [folder + file], { env });
  const { items } = await viewer.getResult('runs.list');
  expect(items).toHaveLength(1);
  expect(items[0]).toMatchObject({
    trace_id: stdout.trim(),
    agent: { name: 'weather-bot' },
    outcome: 'success',
    session_id: 'example-session',
    total_tokens: 120,
    latency_ms: 900,
    span_count: 3,
  });
});

test('docs/opentelemetry.md shows senders/collector.yaml, the configuration that the Collector is tested with', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const [, documented] = /```yaml\n(.*?)```/s.exec(read('../../../../docs/opentelemetry.md'))!;
  expect(documented).toBe(read('./senders/collector.yaml'));
});
