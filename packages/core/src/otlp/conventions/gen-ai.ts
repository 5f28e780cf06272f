import type { Attributes } from '../records.ts';
import type { Convention, KindMatch, MessagesWithSource, SpanKind } from './convention.ts';
import { messagesOfList, systemInstructions } from './messages.ts';

const SPANS_SPEC = 'https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-spans.md';
const AGENTS_SPEC = 'https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-agent-spans.md';

const OPERATION = 'gen_ai.operation.name';
const OPERATIONS: Readonly<Record<string, SpanKind>> = {
  invoke_agent: 'agent',
  create_agent: 'agent',
  invoke_workflow: 'agent',
  handle_conversation_turn: 'agent',
  plan: 'agent',
  agent_step: 'agent',
  chat: 'llm',
  text_completion: 'llm',
  generate_content: 'llm',
  completion: 'llm',
  generate: 'llm',
  execute_tool: 'tool',
  retrieval: 'retrieval',
  search_memory: 'retrieval',
  rerank: 'retrieval',
};

const SYSTEM = 'gen_ai.system_instructions';
const INPUT = 'gen_ai.input.messages';
const OUTPUT = 'gen_ai.output.messages';

/** The GenAI semantic conventions of OpenTelemetry. They still change, so a field can have several names. */
export const genAi: Convention = {
  kindOf({ attributes }): KindMatch | undefined {
    const operation = attributes.get(OPERATION);
    if (typeof operation !== 'string') return undefined;
    if (operation === 'embeddings') return { kind: 'other', isEmbedding: true };
    return Object.hasOwn(OPERATIONS, operation) ? { kind: OPERATIONS[operation]! } : undefined;
  },
  messagesOf: readGenAiMessages,
  rules: [
    { field: 'name', from: ['gen_ai.tool.name', 'tool.name'], kinds: ['tool'], source: AGENTS_SPEC },
    { field: 'model', from: ['gen_ai.response.model', 'gen_ai.request.model'], source: SPANS_SPEC },
    { field: 'provider', from: ['gen_ai.provider.name'], source: SPANS_SPEC },
    { field: 'prompt_tokens', from: ['gen_ai.usage.input_tokens'], source: SPANS_SPEC },
    { field: 'completion_tokens', from: ['gen_ai.usage.output_tokens'], source: SPANS_SPEC },
    { field: 'input', from: ['gen_ai.retrieval.query.text'], kinds: ['retrieval'], source: SPANS_SPEC },
    { field: 'output', from: ['gen_ai.retrieval.documents'], kinds: ['retrieval'], source: SPANS_SPEC },
    { field: 'tool_arguments', from: ['gen_ai.tool.call.arguments'], kinds: ['tool'], source: AGENTS_SPEC },
    {
      field: 'tool_result',
      from: ['gen_ai.tool.call.result', 'gen_ai.tool.call.response'],
      kinds: ['tool'],
      source: AGENTS_SPEC,
    },
    { field: 'agent_name', from: ['gen_ai.main_agent.name', 'gen_ai.agent.name'], source: AGENTS_SPEC },
    { field: 'session_id', from: ['gen_ai.conversation.id'], source: SPANS_SPEC },
    { field: 'external_user_id', from: ['user.id', 'enduser.id'], source: SPANS_SPEC },
  ],
};

/** The conversation in `gen_ai.input.messages` and related attributes of a span, event or log record; undefined if there is none. */
export function readGenAiMessages(attributes: Attributes): MessagesWithSource | undefined {
  const parts = [
    { name: SYSTEM, messages: systemInstructions(attributes.get(SYSTEM)) },
    { name: INPUT, messages: messagesOfList(attributes.get(INPUT), 'user') },
    { name: OUTPUT, messages: messagesOfList(attributes.get(OUTPUT), 'assistant') },
  ].filter(({ messages }) => messages.length > 0);
  if (parts.length === 0) return undefined;
  return { messages: parts.flatMap(({ messages }) => messages), sourceNames: parts.map(({ name }) => name) };
}
