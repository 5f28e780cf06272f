import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { processEnvironment } from '../fixtures/process-environment.ts';
import { storedDocuments } from '../harness/stored-documents.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));
/** Runs written for this repository in the format of τ-bench. The example can also import the published file, which is not included. */
const file = fileURLToPath(new URL('../../../../examples/tau-bench/sample-runs.json', import.meta.url));
const MODEL = 'gpt-4o';

interface TauBenchCall {
  id: string;
  function: { name: string; arguments: string };
}
interface TauBenchMessage {
  role: string;
  content: string | null;
  tool_calls?: TauBenchCall[];
}
interface TauBenchRun {
  task_id: number;
  trial: number;
  reward: number;
  traj: TauBenchMessage[];
}
interface StoredSpan {
  trace_id: string;
  span_id: string;
  kind: string;
  name: string;
}
interface SentSpan {
  span_id: string;
  name: string;
  parent_span_id?: string;
  kind: string;
  messages: TauBenchMessage[];
  tool_arguments: unknown;
  tool_result: string;
}

let server: TestServer;
let tenantId: string;
let key: string;
let runs: TauBenchRun[];
let firstImport: CommandResult;

/** How the importer ended, and what it printed. */
interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the importer in its own process, as a user does. */
const runImport = (environment: Record<string, string>, ...args: string[]): Promise<CommandResult> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      ['examples/tau-bench/import.ts', ...args],
      { cwd: repository, env: processEnvironment(environment), maxBuffer: 1 << 24 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

const traceIdOf = ({ task_id, trial }: TauBenchRun): string => `tau-bench-airline-${MODEL}-task-${task_id}-trial-${trial}`;
const passRate = (group: TauBenchRun[]): number => (100 * group.filter(({ reward }) => reward === 1).length) / group.length;
const rows = <Row extends object>(text: string): Promise<Row[]> =>
  server.database.sql<Row & Record<string, unknown>>(text, [tenantId]);

beforeAll(async () => {
  runs = JSON.parse(readFileSync(file, 'utf8')) as TauBenchRun[];
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  firstImport = await runImport({ COUNTERSIGN_API_KEY: key }, '--file', file, '--url', server.url);
});

describe('imported runs in the format of τ-bench', () => {
  test('the importer exits with 0 and reports six traces', () => {
    expect(firstImport.code, firstImport.stderr).toBe(0);
    expect(runs).toHaveLength(6);
    expect(firstImport.stderr).toContain('6 traces with ');
  });

  test('each run is one trace of the same agent; its reward gives the outcome, and latency, tokens, cost and start are null', async () => {
    const stored = await rows<{
      trace_id: string;
      outcome: string;
      agent: string;
      latency_ms: string | null;
      total_tokens: string | null;
      cost_usd: string | null;
      started_at: Date | null;
    }>(
      `SELECT trace_id, outcome, agents.name AS agent, latency_ms, total_tokens, cost_usd, started_at
         FROM countersign.traces JOIN countersign.agents ON agents.tenant_id = traces.tenant_id AND agents.id = agent_id WHERE traces.tenant_id = $1`,
    );
    const expected = runs.map((run) => ({
      trace_id: traceIdOf(run),
      outcome: run.reward === 1 ? 'success' : 'failure',
      agent: `tau-airline-${MODEL}`,
      latency_ms: null,
      total_tokens: null,
      cost_usd: null,
      started_at: null,
    }));
    expect(byTraceId(stored)).toEqual(byTraceId(expected));
    expect(stored.filter(({ outcome }) => outcome === 'success')).toHaveLength(3);
  });

  test('each assistant message is an llm span and each tool call a named tool span, in the order of the run', async () => {
    const spans = await rows<StoredSpan>(
      `SELECT trace_id, span_id, kind, spans.name FROM countersign.spans
         JOIN countersign.traces ON traces.tenant_id = spans.tenant_id AND traces.id = spans.trace WHERE spans.tenant_id = $1 ORDER BY trace_id, ordinal`,
    );
    const stored = Map.groupBy(spans, ({ trace_id }) => trace_id);
    for (const run of runs) {
      const expected = run.traj.flatMap(({ role, tool_calls }) =>
        role === 'assistant' ? ['llm assistant', ...(tool_calls ?? []).map((call) => `tool ${call.function.name}`)] : [],
      );
      expect(
        stored.get(traceIdOf(run))?.map(({ kind, name }) => `${kind} ${name}`),
        traceIdOf(run),
      ).toEqual(expected);
    }
    const ofRole = (role: string) => runs.flatMap(({ traj }) => traj).filter((message) => message.role === role).length;
    expect(spans.filter(({ kind }) => kind === 'llm')).toHaveLength(ofRole('assistant'));
    expect(spans.filter(({ kind }) => kind === 'tool')).toHaveLength(ofRole('tool'));
  });

  test('the stored documents contain every message, tool argument and tool result of the runs', async () => {
    const stored = await storedDocuments(server.database.sql, 'trace_submissions', tenantId);
    const documents = new Map(stored.map((document) => JSON.parse(document.toString())).map((trace) => [trace.trace_id, trace]));
    for (const run of runs) {
      const { spans, metadata } = documents.get(traceIdOf(run)) as { spans: SentSpan[]; metadata: Record<string, unknown> };
      const sentMessages = spans.flatMap(({ messages }) => messages ?? []);
      expect([...sentMessages, ...((metadata.closing_messages ?? []) as TauBenchMessage[])], traceIdOf(run)).toEqual(run.traj);
      expect(metadata).toMatchObject({ task_id: run.task_id, trial: run.trial, reward: run.reward });
      const tools = spans.filter(({ kind }) => kind === 'tool');
      expect(tools.map(({ tool_result }) => tool_result)).toEqual(
        run.traj.filter(({ role }) => role === 'tool').map(({ content }) => content),
      );
      expect(tools.map(({ tool_arguments }) => tool_arguments)).toEqual(
        run.traj.flatMap(({ tool_calls }) => tool_calls ?? []).map((call) => jsonOrText(call.function.arguments)),
      );
      const llm = new Map(spans.filter(({ kind }) => kind === 'llm').map((span) => [span.span_id, span]));
      for (const { name, parent_span_id } of tools) {
        const called = llm.get(parent_span_id!)?.messages.at(-1)?.tool_calls ?? [];
        expect(called.map((call) => call.function.name)).toContain(name);
      }
    }
  });

  test('each trial is an evaluation with the pass rate of its runs, and the last evaluation covers all trials', async () => {
    const stored = await rows<{ status: string; pass_rate: number }>(
      'SELECT status, pass_rate FROM countersign.evaluations WHERE tenant_id = $1 ORDER BY seq',
    );
    const rates = [0, 1].map((trial) => passRate(runs.filter((run) => run.trial === trial)));
    expect(stored).toEqual([...rates, passRate(runs)].map((pass_rate) => ({ status: 'passing', pass_rate })));
    expect(stored.at(-1)?.pass_rate).toBe(50);
  });

  test('the gate blocks with pass_rate_below_threshold at a pass rate of 50, and the importer prints the decision', () => {
    expect(JSON.parse(firstImport.stdout)).toMatchObject({
      allowed: false,
      reason: 'pass_rate_below_threshold',
      event: 'evaluation.failed',
      required_threshold: 80,
      actual_threshold: 50,
      evaluation: { name: 'tau-bench airline, all 2 trials', pass_rate: 50 },
    });
  });

  test('importing again stores nothing new', async () => {
    const counts = () =>
      rows(`SELECT (SELECT count(*) FROM countersign.trace_submissions WHERE tenant_id = $1) AS submissions,
                   (SELECT count(*) FROM countersign.spans WHERE tenant_id = $1) AS spans,
                   (SELECT count(*) FROM countersign.evaluations WHERE tenant_id = $1) AS evaluations`);
    const before = await counts();
    const second = await runImport({ COUNTERSIGN_API_KEY: key }, '--file', file, '--url', server.url);
    expect(second.code, second.stderr).toBe(0);
    expect(second.stderr).toContain('6 of the traces were already stored');
    expect(await counts()).toEqual(before);
  });

  // A sender with another key must not be able to prevent an evaluation of the importer by sending the same evaluation in advance.
  test('importing with another ingestion key of the workspace records the evaluations again', async () => {
    const otherKey = await server.key(tenantId);
    const { code, stderr } = await runImport({ COUNTERSIGN_API_KEY: otherKey }, '--file', file, '--url', server.url);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('evaluation "tau-bench airline, all 2 trials": pass rate 50 %');
    expect(stderr).not.toContain('already stored');
  });
});

describe('the importer without a file', () => {
  test('imports the included sample under a separate model name', async () => {
    const { code, stdout, stderr } = await runImport({ COUNTERSIGN_API_KEY: key }, '--url', server.url);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('the gate decided about tau-airline-sample: blocked');
    expect(JSON.parse(stdout)).toMatchObject({ allowed: false, actual_threshold: 50 });
  });
});

describe('the importer', () => {
  test('exits with 2 for a missing key and for a key given as an option', async () => {
    expect(await runImport({}, '--file', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('COUNTERSIGN_API_KEY'),
    });
    expect(await runImport({ COUNTERSIGN_API_KEY: key }, '--file', file, '--key', key)).toMatchObject({ code: 2 });
  });

  test('exits with 3 for a missing file and a file in another format', async () => {
    expect(await runImport({ COUNTERSIGN_API_KEY: key }, '--file', 'nowhere.json')).toMatchObject({ code: 3 });
    expect(await runImport({ COUNTERSIGN_API_KEY: key }, '--file', 'package.json')).toMatchObject({ code: 3 });
  });

  test('exits with 4 for a key without a required scope, and names the error without printing the key', async () => {
    const narrow = await server.key(tenantId, ['evaluations']);
    const result = await runImport({ COUNTERSIGN_API_KEY: narrow }, '--file', file, '--url', server.url);
    expect(result).toMatchObject({ code: 4, stderr: expect.stringContaining('insufficient_scope') });
    expect(result.stderr).not.toContain(narrow.slice(-43));
  });

  test('exits with 4 if a proxy responds with a page', async () => {
    const proxy = createServer((_request, response) => void response.end('<html>Welcome</html>'));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const result = await runImport({ COUNTERSIGN_API_KEY: key }, '--file', file, '--url', `http://127.0.0.1:${port}`);
    proxy.close();
    expect(result).toMatchObject({ code: 4, stderr: expect.stringContaining('the response is not from Countersign') });
  });
});

/** Parses the arguments of a tool call. If a model sent text that is not JSON, returns this text. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const byTraceId = <T extends { trace_id: string }>(list: T[]): T[] =>
  list.toSorted((left, right) => (left.trace_id < right.trace_id ? -1 : 1));
