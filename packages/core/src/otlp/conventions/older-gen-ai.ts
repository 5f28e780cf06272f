import type { Message } from '../../contract/message.ts';
import type { Attributes } from '../records.ts';
import type { Convention, KindMatch, MessagesWithSource } from './convention.ts';
import { branch, items, leaf, subtree, type Tree } from './indexed.ts';
import { fromJson } from './json-text.ts';
import { plainMessage, roleOf, toolCall } from './messages.ts';

/** The specification with the former names. */
const FORMER_SPEC = 'https://github.com/open-telemetry/semantic-conventions/blob/v1.36.0/docs/registry/attributes/gen-ai.md';

const LITELLM_CODE = 'https://github.com/BerriAI/litellm/blob/main/litellm/integrations/opentelemetry.py';
const PYDANTIC_AI_CODE = 'https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/models/instrumented.py';

/**
 * Names that some senders use: former names of `gen_ai.*` attributes, and names for the cost, which GenAI does not define. Also
 * recognizes the span of a tool call by the attributes of tools, because some senders do not send `gen_ai.operation.name`.
 */
export const olderGenAi: Convention = {
  kindOf({ attributes }): KindMatch | undefined {
    const isTool = attributes.has('gen_ai.tool.name') || attributes.has('gen_ai.tool.call.id');
    return isTool || attributes.get('mcp.method.name') === 'tools/call' ? { kind: 'tool' } : undefined;
  },
  messagesOf: readIndexedMessages,
  rules: [
    { field: 'provider', from: ['gen_ai.system'], source: FORMER_SPEC },
    { field: 'prompt_tokens', from: ['gen_ai.usage.prompt_tokens'], source: FORMER_SPEC },
    { field: 'completion_tokens', from: ['gen_ai.usage.completion_tokens'], source: FORMER_SPEC },
    { field: 'cost_usd', from: ['gen_ai.cost.total_cost'], source: LITELLM_CODE },
    { field: 'cost_usd', from: ['operation.cost'], source: PYDANTIC_AI_CODE },
  ],
};

/** Reads `gen_ai.prompt.N.*` and `gen_ai.completion.N.*`. The content of a message may be JSON text. */
function readIndexedMessages(attributes: Attributes): MessagesWithSource | undefined {
  const prompt = subtree(attributes, 'gen_ai.prompt');
  const completion = subtree(attributes, 'gen_ai.completion');
  const messages = [
    ...items(prompt.tree).map((each) => indexedMessage(each, 'user')),
    ...items(completion.tree).map((each) => indexedMessage(each, 'assistant')),
  ];
  return messages.length === 0 ? undefined : { messages, sourceNames: [...prompt.names, ...completion.names] };
}

function indexedMessage(tree: Tree, fallback: Message['role']): Message {
  const calls = items(branch(tree, 'tool_calls')).map((call) =>
    toolCall(leaf(call, 'id'), leaf(call, 'name'), fromJson(leaf(call, 'arguments') ?? null)),
  );
  return plainMessage(
    {
      role: roleOf(leaf(tree, 'role'), fallback),
      content: fromJson(leaf(tree, 'content') ?? null),
      tool_call_id: leaf(tree, 'tool_call_id') ?? null,
      tool_calls: calls,
    },
    fallback,
  );
}
