import type { Message } from '../../contract/message.ts';
import type { Attributes, Value } from '../records.ts';
import type { Convention, KindMatch, MessagesWithSource } from './convention.ts';
import { fromJson } from './json-text.ts';
import { isObject, plainMessage, toolCall } from './messages.ts';

const SPEC = 'https://ai-sdk.dev/docs/ai-sdk-core/telemetry#collected-data';

const OPERATION = 'ai.operationId';
const PROMPT = 'ai.prompt.messages';
const TEXT = 'ai.response.text';
const CALLS = 'ai.response.toolCalls';

/** The Vercel AI SDK. Its outer spans repeat the tokens of the inner ones, so only `doGenerate` and `doStream` are `llm` steps. */
export const vercelAi: Convention = {
  kindOf({ attributes }): KindMatch | undefined {
    const operation = attributes.get(OPERATION);
    if (typeof operation !== 'string') return undefined;
    if (operation === 'ai.toolCall') return { kind: 'tool' };
    if (/\.doEmbed$/.test(operation)) return { kind: 'other', isEmbedding: true };
    return { kind: /\.do(Generate|Stream)$/.test(operation) ? 'llm' : 'other' };
  },
  messagesOf: readMessages,
  rules: [
    { field: 'name', from: ['ai.toolCall.name'], kinds: ['tool'], source: SPEC },
    { field: 'model', from: ['ai.response.model', 'ai.model.id'], source: SPEC },
    { field: 'provider', from: ['ai.model.provider'], source: SPEC },
    { field: 'prompt_tokens', from: ['ai.usage.inputTokens', 'ai.usage.promptTokens', 'ai.usage.tokens'], source: SPEC },
    { field: 'completion_tokens', from: ['ai.usage.outputTokens', 'ai.usage.completionTokens'], source: SPEC },
    { field: 'total_tokens', from: ['ai.usage.totalTokens'], source: SPEC },
    { field: 'tool_arguments', from: ['ai.toolCall.args'], kinds: ['tool'], isJson: true, source: SPEC },
    { field: 'tool_result', from: ['ai.toolCall.result'], kinds: ['tool'], isJson: true, source: SPEC },
    { field: 'input', from: ['ai.prompt'], source: SPEC },
    { field: 'output', from: ['ai.response.text', 'ai.response.object'], kinds: ['other'], source: SPEC },
    { field: 'agent_name', from: ['ai.telemetry.functionId'], source: SPEC },
    { field: 'session_id', from: ['ai.telemetry.metadata.sessionId'], source: SPEC },
    { field: 'external_user_id', from: ['ai.telemetry.metadata.userId'], source: SPEC },
  ],
};

function readMessages(attributes: Attributes): MessagesWithSource | undefined {
  if (!attributes.has(PROMPT)) return undefined;
  const prompt = fromJson(attributes.get(PROMPT)!);
  const messages: Message[] = (Array.isArray(prompt) ? prompt : []).flatMap(messagesOf);
  const sourceNames = messages.length > 0 ? [PROMPT] : [];
  const content = attributes.get(TEXT) ?? null;
  const calls = fromJson(attributes.get(CALLS) ?? null);
  const toolCalls = (Array.isArray(calls) ? calls : []).map(callOf);
  if (content !== null) sourceNames.push(TEXT);
  if (toolCalls.length > 0) sourceNames.push(CALLS);
  if (content !== null || toolCalls.length > 0) messages.push(plainMessage({ content, tool_calls: toolCalls }, 'assistant'));
  return messages.length === 0 ? undefined : { messages, sourceNames };
}

/** The messages in one message of the SDK. Its content is text or a list of parts. Each result of a tool call becomes its own message. */
function messagesOf(message: Value): Message[] {
  if (!isObject(message) || !Array.isArray(message.content)) return [plainMessage(message, 'user')];
  const calls = message.content.filter((part) => isObject(part) && part.type === 'tool-call').map(callOf);
  const results = message.content.filter((part) => isObject(part) && part.type === 'tool-result').map(resultOf);
  const contentParts = message.content.filter(
    (part) => !isObject(part) || (part.type !== 'tool-call' && part.type !== 'tool-result'),
  );
  const [onlyPart] = contentParts;
  const content =
    contentParts.length === 1 && isObject(onlyPart) && typeof onlyPart.text === 'string' ? onlyPart.text : contentParts;
  if (contentParts.length === 0 && calls.length === 0) return results;
  return [
    plainMessage({ ...message, content: contentParts.length === 0 ? null : content, tool_calls: calls }, 'user'),
    ...results,
  ];
}

function callOf(part: Value): Value {
  const { toolCallId, toolName, args, input } = isObject(part) ? part : {};
  return toolCall(toolCallId, toolName, fromJson(args ?? input ?? null));
}

function resultOf(part: Value): Message {
  const { toolCallId, toolName, result, output } = isObject(part) ? part : {};
  const wrapped = result ?? output ?? null;
  // Since version 5, a result is an object with a type and a value.
  const content = isObject(wrapped) && wrapped.value !== undefined ? wrapped.value : wrapped;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return plainMessage({ role: 'tool', content: text, name: toolName ?? null, tool_call_id: toolCallId ?? null }, 'tool');
}
