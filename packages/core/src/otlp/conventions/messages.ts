import type { Message } from '../../contract/message.ts';
import type { Value } from '../records.ts';
import { fromJson } from './json-text.ts';

type Members = { [name: string]: Value };

/** The roles of the contract, by the names that model APIs use. */
const ROLES: ReadonlyMap<string, Message['role']> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);

/** The role of the contract that corresponds to the role of a message; `fallback` if the role is missing or unknown. */
export const roleOf = (role: Value | undefined, fallback: Message['role']): Message['role'] =>
  (typeof role === 'string' ? (ROLES.get(role) ?? ROLES.get(role.toLowerCase())) : undefined) ?? fallback;

/**
 * Messages of the GenAI conventions: a list of `{role, parts}`, or its JSON text. Text other than a JSON object or array is one message.
 */
export function messagesOfList(value: Value | undefined, fallback: Message['role']): Message[] {
  const list = fromJson(value ?? null);
  if (!Array.isArray(list)) return typeof list === 'string' && list !== '' ? [{ role: fallback, content: list }] : [];
  return list.flatMap((each) => (isObject(each) ? messagesOfMessage(each, fallback) : []));
}

/** The system instructions of the GenAI conventions: a list of parts, as JSON text or as a structure, or plain text. */
export function systemInstructions(value: Value | undefined): Message[] {
  const parts = fromJson(value ?? null);
  if (typeof parts === 'string') return parts === '' ? [] : [{ role: 'system', content: parts }];
  return Array.isArray(parts) ? messagesOfMessage({ role: 'system', parts }, 'system') : [];
}

/**
 * A message in the form of the OpenAI API or a similar one: `{role, content, name, tool_calls, tool_call_id}`. A tool message may have `id`
 * instead of `tool_call_id`. A value that is not an object becomes the content.
 */
export function plainMessage(source: Value, fallback: Message['role']): Message {
  if (!isObject(source)) return { role: fallback, content: textOf(source) };
  const { role, content, name, tool_call_id, id, tool_calls } = source;
  const toolCallId = tool_call_id ?? (roleOf(role, fallback) === 'tool' ? id : undefined);
  return {
    role: roleOf(role, fallback),
    ...(content === undefined || content === null ? {} : { content: Array.isArray(content) ? content : textOf(content) }),
    ...(typeof name === 'string' && name !== '' ? { name } : {}),
    ...(typeof toolCallId === 'string' && toolCallId !== '' ? { tool_call_id: toolCallId } : {}),
    ...(Array.isArray(tool_calls) && tool_calls.length > 0 ? { tool_calls } : {}),
  };
}

/** A tool call in the form that messages of traces have. Without a name it is called `unnamed`. */
export const toolCall = (id: Value | undefined, name: Value | undefined, args: Value | undefined): Value => ({
  ...(typeof id === 'string' ? { id } : {}),
  type: 'function',
  function: { name: typeof name === 'string' ? name : 'unnamed', arguments: args ?? {} },
});

function messagesOfMessage(message: Members, fallback: Message['role']): Message[] {
  const parts = message.parts ?? message.content ?? [];
  if (!Array.isArray(parts)) return [plainMessage(message, fallback)];
  const role = roleOf(message.role, fallback);
  const roleAndName: Pick<Message, 'role' | 'name'> =
    typeof message.name === 'string' && message.name !== '' ? { role, name: message.name } : { role };
  const [onlyPart] = parts;
  // Most messages have one part, which is text.
  if (parts.length === 1 && isObject(onlyPart) && onlyPart.type === 'text')
    return [Object.assign(roleAndName, { content: textOfPart(onlyPart) })];
  const content: Value[] = [];
  const calls: Value[] = [];
  const results: Message[] = [];
  for (const part of parts) {
    if (!isObject(part)) content.push({ type: 'text', text: textOf(part) });
    else if (part.type === 'tool_call') calls.push(toolCall(part.id, part.name, part.arguments));
    else if (part.type === 'tool_call_response') {
      const result = part.response ?? part.result ?? part.content ?? null;
      results.push(plainMessage({ role: 'tool', content: textOf(result), tool_call_id: part.id ?? null }, 'tool'));
    } else if (part.type === 'text') content.push({ type: 'text', text: textOfPart(part) });
    else content.push(part);
  }
  if (content.length === 0 && calls.length === 0) return results;
  return [{ ...roleAndName, ...contentOf(content), ...(calls.length > 0 ? { tool_calls: calls } : {}) }, ...results];
}

const textOfPart = (part: Members): string => textOf(part.content ?? part.text ?? '');

/** The content of a message from its parts: a single part of text as text, otherwise the list; absent without parts. */
export function contentOf(parts: Value[]): { content?: string | Value[] } {
  if (parts.length === 0) return {};
  const [first] = parts;
  const isText = parts.length === 1 && isObject(first) && first.type === 'text' && typeof first.text === 'string';
  return { content: isText ? (first.text as string) : parts };
}

/** A value as text: text as it is, anything else as JSON. */
export const textOf = (value: Value): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Whether a value is an object, and not null or a list. */
export const isObject = (value: Value | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
