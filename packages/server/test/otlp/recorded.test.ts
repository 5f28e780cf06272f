import { readdirSync, readFileSync } from 'node:fs';
import type { SpanRow } from '@countersign/core/portal/run-routes';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { COLLECTED_PROGRAMS, CONTENT_SETTINGS } from './senders/versions.ts';
import { exporter } from './sending.ts';

// Exports of real instrumentations, recorded by senders/record.ts. Each program had the same conversation: a question, a call
// of the tool `weather`, the answer, and a model call that fails.
const folder = new URL('./recorded/', import.meta.url);

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
});

const OPENAI = 'gpt-4o-2024-08-06';
const CLAUDE = 'claude-sonnet-4-5';
const answeredCall = (name: string, model: string, provider: string | null) => ['llm', name, 'success', model, provider, 100, 20];
const failedCall = (name: string, provider: string | null) => ['llm', name, 'error', 'broken', provider, null, null];
const clientCall = (status: string, model: string) => [
  'llm',
  'anthropic.messages.create',
  status,
  model,
  'anthropic',
  null,
  null,
];
const step = (kind: string, name: string, status = 'success', model: string | null = null, provider: string | null = null) => [
  kind,
  name,
  status,
  model,
  provider,
  null,
  null,
];

/** The steps of each program except its agent span: kind, name, status, model, provider, tokens in and out. */
const STEPS: Record<string, unknown[][]> = {
  'otel-openai': [
    answeredCall('chat gpt-4o', OPENAI, 'openai'),
    answeredCall('chat gpt-4o', OPENAI, 'openai'),
    failedCall('chat broken', 'openai'),
  ],
  // This instrumentation omits the failed call.
  'openinference-openai': [
    answeredCall('OpenAI Chat Completions', OPENAI, 'openai'),
    answeredCall('OpenAI Chat Completions', OPENAI, 'openai'),
  ],
  // The client of Anthropic reports each call again, below the span of the instrumentation.
  'openinference-anthropic': [
    answeredCall('Anthropic Messages', CLAUDE, 'anthropic'),
    answeredCall('Anthropic Messages', CLAUDE, 'anthropic'),
    failedCall('Anthropic Messages', 'anthropic'),
    clientCall('success', CLAUDE),
    clientCall('success', CLAUDE),
    clientCall('error', 'broken'),
  ],
  // This instrumentation omits the failed call.
  'openllmetry-openai': [answeredCall('chat gpt-4o', OPENAI, 'openai'), answeredCall('chat gpt-4o', OPENAI, 'openai')],
  'openinference-langchain': [
    answeredCall('ChatOpenAI', 'gpt-4o', null),
    answeredCall('ChatOpenAI', 'gpt-4o', null),
    failedCall('ChatOpenAI', null),
    step('tool', 'weather'),
  ],
  'python-otel-openai': [
    answeredCall('chat gpt-4o', OPENAI, 'openai'),
    answeredCall('chat gpt-4o', OPENAI, 'openai'),
    failedCall('chat broken', 'openai'),
  ],
  // This instrumentation names no model for a failed call.
  'python-openinference-openai': [
    answeredCall('ChatCompletion', OPENAI, 'openai'),
    answeredCall('ChatCompletion', OPENAI, 'openai'),
    step('llm', 'ChatCompletion', 'error', null, 'openai'),
  ],
  'python-openinference-langchain': [
    answeredCall('ChatOpenAI', OPENAI, 'openai'),
    answeredCall('ChatOpenAI', OPENAI, 'openai'),
    failedCall('ChatOpenAI', 'openai'),
    step('tool', 'weather'),
  ],
  'python-openllmetry-openai': [
    answeredCall('openai.chat', OPENAI, 'openai'),
    answeredCall('openai.chat', OPENAI, 'openai'),
    failedCall('openai.chat', 'openai'),
  ],
  'python-openinference-llama-index': [
    step('llm', 'OpenAI._prepare_chat_with_tools', 'success', 'gpt-4o', 'openai'),
    step('llm', 'OpenAI._prepare_chat_with_tools', 'success', 'gpt-4o', 'openai'),
    answeredCall('OpenAI.chat', 'gpt-4o', 'openai'),
    answeredCall('OpenAI.chat', 'gpt-4o', 'openai'),
    // Here, `additional_kwargs` of the client replaces the model with the failing model. The instrumentation does not read this option.
    step('llm', 'OpenAI.chat', 'error', 'gpt-4o', 'openai'),
    step('tool', 'weather'),
  ],
  // The client of OpenAI calls the failing model three times.
  'python-openinference-crewai': [
    answeredCall('ChatCompletion', OPENAI, 'openai'),
    answeredCall('ChatCompletion', OPENAI, 'openai'),
    ...Array.from({ length: 3 }, () => step('llm', 'ChatCompletion', 'error', null, 'openai')),
    step('tool', 'weather'),
    step('agent', 'forecaster._execute_core'),
    step('agent', 'forecaster._execute_core', 'error'),
    step('other', 'forecast.kickoff'),
    step('other', 'forecast.kickoff', 'error'),
  ],
  'python-openinference-openai-agents': [
    answeredCall('response', OPENAI, 'openai'),
    answeredCall('response', OPENAI, 'openai'),
    step('llm', 'response', 'error', null, 'openai'),
    step('tool', 'weather'),
    step('agent', 'forecaster'),
    step('agent', 'broken', 'error'),
    ...Array.from({ length: 3 }, () => step('other', 'turn')),
    ...Array.from({ length: 2 }, () => [step('agent', 'Agent workflow'), step('other', 'Agent workflow')]).flat(),
  ],
  'vercel-ai': [
    answeredCall('ai.generateText.doGenerate', OPENAI, 'openai.chat'),
    answeredCall('ai.generateText.doGenerate', OPENAI, 'openai.chat'),
    failedCall('ai.generateText.doGenerate', 'openai.chat'),
    step('tool', 'weather'),
    step('other', 'ai.generateText', 'success', 'gpt-4o', 'openai.chat'),
    step('other', 'ai.generateText', 'error', 'broken', 'openai.chat'),
  ],
};

/** Sends a recording unchanged and returns its run. */
async function replay(name: string) {
  const exports = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'));
  const { send } = exporter(server, key);
  for (const { path, contentType, body } of exports) {
    const { status, bytes } = await send(Buffer.from(body, 'base64'), { 'content-type': contentType }, path);
    expect({ status, body: bytes.toString() }).toEqual({ status: 200, body: '' });
  }
  const { items } = await viewer.getResult('runs.list');
  return items[0]!;
}

const comparableStep = ({ kind, name, status, model, provider, prompt_tokens, completion_tokens }: SpanRow): string =>
  JSON.stringify([kind, name, status, model, provider, prompt_tokens, completion_tokens]);

/** Messages in a comparable form: tool arguments as text and as a structure become equal. */
const comparable = (messages: unknown): unknown =>
  JSON.parse(JSON.stringify(messages), (name, value) =>
    name === 'arguments' && typeof value === 'string' ? JSON.parse(value) : value,
  );

const CALL = { type: 'function', function: { name: 'weather', arguments: { city: 'Bern' } } };

/** The name of the program that made a recording. */
const programOf = (name: string): string => CONTENT_SETTINGS[name]?.program ?? COLLECTED_PROGRAMS[name]?.program ?? name;

/** The steps of a recording. They are the same with other settings for content, and with a Collector. */
const stepsOf = (name: string) => {
  const program = programOf(name);
  return [...STEPS[program]!, step('agent', `invoke_agent ${program}`, 'error')].map((each) => JSON.stringify(each)).sort();
};
const SILENT_RECORDINGS = Object.keys(CONTENT_SETTINGS).filter((name) => name.endsWith('-silent'));
const COMPLETE_RECORDINGS = [
  ...Object.keys(STEPS),
  ...Object.keys(COLLECTED_PROGRAMS),
  ...Object.keys(CONTENT_SETTINGS).filter((name) => !SILENT_RECORDINGS.includes(name)),
];

test('the tables list every recording', () => {
  expect(readdirSync(folder).sort()).toEqual([...COMPLETE_RECORDINGS, ...SILENT_RECORDINGS].map((name) => `${name}.json`).sort());
});

describe('exports of real instrumentations', () => {
  test.each(COMPLETE_RECORDINGS)('%s: every step, its content and the outcome of the run are stored', async (name) => {
    const run = await replay(name);
    const { id: trace } = run;
    expect(run).toMatchObject({
      agent: { name: programOf(name) },
      outcome: 'failure',
      has_error: true,
      session_id: 'session-1',
      total_tokens: 240,
    });
    const { items } = await viewer.getResult('runs.spans', { params: { trace } });
    expect(items.map(comparableStep).sort()).toEqual(stepsOf(name));

    const payloadOf = async (index: number) =>
      (await viewer.getResult('runs.span', { params: { trace }, query: { span_id: items[index]!.span_id } })).payload;
    const [first, second] = items.flatMap(({ kind, prompt_tokens }, index) =>
      kind === 'llm' && prompt_tokens === 100 ? [index] : [],
    );
    const firstMessages = comparable((await payloadOf(first!)).messages) as { role: string; tool_calls?: unknown }[];
    expect(firstMessages).toContainEqual({ role: 'user', content: expect.stringContaining('How is the weather in Bern?') });
    expect(firstMessages.at(-1)).toMatchObject({ role: 'assistant', tool_calls: [CALL] });
    const answer = (await payloadOf(second!)).messages as object[];
    expect(answer.at(-2)).toMatchObject({ content: 'rain' });
    expect(answer.at(-1)).toMatchObject({ role: 'assistant', content: 'It rains in Bern.' });
    for (const [index, { status, error }] of items.entries()) {
      if (status === 'error') expect(error).toMatch(/this model is broken|invalid_request_error/);
      if (items[index]!.kind !== 'tool') continue;
      const { tool_arguments, tool_result } = await payloadOf(index);
      expect(JSON.stringify(tool_arguments)).toContain('Bern');
      expect(JSON.stringify(tool_result)).toContain('rain');
    }
  });
});

describe('exports of instrumentations that are configured to omit content', () => {
  test.each(SILENT_RECORDINGS)('%s: the same steps and tokens are stored as with content, but no content', async (name) => {
    const { id: trace, total_tokens } = await replay(name);
    expect(total_tokens).toBe(240);
    const { items } = await viewer.getResult('runs.spans', { params: { trace } });
    expect(items.map(comparableStep).sort()).toEqual(stepsOf(name));
    for (const { span_id } of items) {
      const { payload } = await viewer.getResult('runs.span', { params: { trace }, query: { span_id } });
      expect(JSON.stringify(payload)).not.toMatch(/Bern|Be brief|"rain"/);
    }
  });
});
