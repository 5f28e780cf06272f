import type { Message } from '../../contract/message.ts';
import type { Attributes } from '../records.ts';
import type { Convention, KindMatch, MessagesWithSource, SpanKind } from './convention.ts';
import { fromJson } from './json-text.ts';
import { isObject, plainMessage } from './messages.ts';

const SPEC = 'https://langfuse.com/integrations/native/opentelemetry#property-mapping';

const TYPE = 'langfuse.observation.type';
const KINDS: Readonly<Record<string, SpanKind>> = {
  agent: 'agent',
  generation: 'llm',
  tool: 'tool',
  retriever: 'retrieval',
  guardrail: 'guardrail',
  chain: 'other',
  evaluator: 'other',
  embedding: 'other',
};

const INPUT = 'langfuse.observation.input';
const OUTPUT = 'langfuse.observation.output';
const USAGE = 'langfuse.observation.usage_details';
const COST = 'langfuse.observation.cost_details';

/** The SDK of Langfuse. The members of its usage have the names of the SDK or of the model API. */
export const langfuse: Convention = {
  kindOf({ attributes }): KindMatch | undefined {
    const type = attributes.get(TYPE);
    if (typeof type !== 'string' || !Object.hasOwn(KINDS, type)) return undefined;
    return { kind: KINDS[type]!, isEmbedding: type === 'embedding' };
  },
  messagesOf: readMessages,
  rules: [
    { field: 'model', from: ['langfuse.observation.model.name'], source: SPEC },
    { field: 'prompt_tokens', from: [USAGE], members: ['input', 'input_tokens', 'prompt_tokens'], source: SPEC },
    { field: 'completion_tokens', from: [USAGE], members: ['output', 'output_tokens', 'completion_tokens'], source: SPEC },
    { field: 'total_tokens', from: [USAGE], members: ['total', 'total_tokens'], source: SPEC },
    { field: 'cost_usd', from: ['gen_ai.usage.cost', 'langfuse.observation.cost_details.total'], source: SPEC },
    { field: 'cost_usd', from: [COST], members: ['total'], source: SPEC },
    { field: 'tool_arguments', from: [INPUT], kinds: ['tool'], source: SPEC },
    { field: 'tool_result', from: [OUTPUT], kinds: ['tool'], source: SPEC },
    { field: 'input', from: [INPUT], source: SPEC },
    { field: 'output', from: [OUTPUT], source: SPEC },
    { field: 'session_id', from: ['langfuse.session.id'], source: SPEC },
    { field: 'external_user_id', from: ['langfuse.user.id'], source: SPEC },
  ],
};

/** Reads the input and output of a generation if they are messages. */
function readMessages(attributes: Attributes): MessagesWithSource | undefined {
  if (attributes.get(TYPE) !== 'generation') return undefined;
  const parts = [
    { name: INPUT, messages: messagesIn(attributes, INPUT, 'user') },
    { name: OUTPUT, messages: messagesIn(attributes, OUTPUT, 'assistant') },
  ].filter(({ messages }) => messages.length > 0);
  if (parts.length === 0) return undefined;
  return { messages: parts.flatMap(({ messages }) => messages), sourceNames: parts.map(({ name }) => name) };
}

/** The messages in an attribute, which contains one message, a list, or an object with a list `messages`. Empty for other values. */
function messagesIn(attributes: Attributes, name: string, fallback: Message['role']): Message[] {
  const value = fromJson(attributes.get(name) ?? null);
  const list = isObject(value) && Array.isArray(value.messages) ? value.messages : Array.isArray(value) ? value : [value];
  const isConversation = list.every((each) => isObject(each) && typeof each.role === 'string');
  return isConversation ? list.map((each) => plainMessage(each, fallback)) : [];
}
