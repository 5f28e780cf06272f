import type { Message } from '../../contract/message.ts';
import type { Value } from '../records.ts';
import { fromJson } from './json-text.ts';
import { contentOf, isObject, plainMessage, toolCall } from './messages.ts';

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html

const MEMBERS = ['text', 'toolUse', 'toolResult'] as const;

/** Whether a value is a block of text, a tool call or its result. Other APIs have a `type` in each block. */
const isBlock = (value: Value): value is { [name: string]: Value } =>
  isObject(value) && value.type === undefined && MEMBERS.some((name) => value[name] !== undefined);

/**
 * The messages in the content of a message of the Converse API of Amazon Bedrock, as Strands Agents sends it: a list of blocks or its JSON
 * text. Each result of a tool call becomes its own message. Undefined if the value has another form.
 */
export function converseMessages(content: Value, role: Message['role']): Message[] | undefined {
  const blocks = fromJson(content);
  if (!Array.isArray(blocks) || blocks.length === 0 || !blocks.every(isBlock)) return undefined;
  const parts = blocks.flatMap(({ text }): Value[] => (text === undefined ? [] : [{ type: 'text', text }]));
  const calls = blocks.flatMap(({ toolUse: call }) => (isObject(call) ? [toolCall(call.toolUseId, call.name, call.input)] : []));
  const results = blocks.flatMap(({ toolResult: result }) => (isObject(result) ? [resultMessage(result)] : []));
  if (parts.length === 0 && calls.length === 0) return results;
  return [plainMessage({ role, content: contentOf(parts).content ?? null, tool_calls: calls }, role), ...results];
}

function resultMessage({ toolUseId, content }: { [name: string]: Value }): Message {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.map((part) => (isObject(part) && typeof part.text === 'string' ? { type: 'text', text: part.text } : part));
  return plainMessage({ content: contentOf(texts).content ?? null, tool_call_id: toolUseId ?? null }, 'tool');
}
