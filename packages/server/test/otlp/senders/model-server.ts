import { createServer, type IncomingMessage, type Server } from 'node:http';

/** A stub for the HTTP APIs of models. It requests the tool `weather` once, then answers. Models whose name ends with `broken` fail. */
export function createModelServer(): Server {
  return createServer(async (request, response) => {
    const body = JSON.parse((await textOf(request)) || '{}');
    const { status, answer } = answerTo(request.url ?? '', body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface ModelRequest {
  model?: string;
  messages?: { role: string; content?: unknown }[];
  /** Used by the Responses API instead of messages. */
  input?: unknown;
  tools?: unknown[];
}

function answerTo(path: string, body: ModelRequest): { status: number; answer: object } {
  const error = { message: 'this model is broken', type: 'invalid_request_error', code: 'broken_model' };
  if (body.model?.endsWith('broken')) return { status: 400, answer: { type: 'error', error } };
  const text = JSON.stringify(body.messages ?? body.input ?? []);
  const asksForTool = (body.tools?.length ?? 0) > 0 && !/"role":"tool"|tool_result|function_call_output/.test(text);
  if (path.endsWith('/responses')) return { status: 200, answer: responsesAnswer(asksForTool) };
  if (path.endsWith('/messages')) return { status: 200, answer: anthropicAnswer(asksForTool) };
  if (path.endsWith('/embeddings')) return { status: 200, answer: EMBEDDING };
  return { status: 200, answer: openAiAnswer(asksForTool) };
}

function openAiAnswer(asksForTool: boolean): object {
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
  const message = asksForTool
    ? { role: 'assistant', content: null, tool_calls: [call] }
    : { role: 'assistant', content: 'It rains in Bern.' };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, message, finish_reason: asksForTool ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  };
}

const responsesAnswer = (asksForTool: boolean): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  model: 'gpt-4o-2024-08-06',
  output: asksForTool
    ? [
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'call_1',
          name: 'weather',
          arguments: '{"city":"Bern"}',
          status: 'completed',
        },
      ]
    : [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'It rains in Bern.', annotations: [] }],
        },
      ],
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  usage: {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 120,
  },
});

const anthropicAnswer = (asksForTool: boolean): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: asksForTool
    ? [{ type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Bern' } }]
    : [{ type: 'text', text: 'It rains in Bern.' }],
  stop_reason: asksForTool ? 'tool_use' : 'end_turn',
  usage: { input_tokens: 100, output_tokens: 20 },
});

const EMBEDDING = {
  object: 'list',
  model: 'text-embedding-3-small',
  data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
  usage: { prompt_tokens: 5, total_tokens: 5 },
};
