import type { Message } from '../contract/message.ts';
import { readGenAiMessages } from './conventions/gen-ai.ts';
import { fromJson, parsingWithinLimit } from './conventions/json-text.ts';
import { isObject, plainMessage } from './conventions/messages.ts';
import type { Attributes, Value } from './records.ts';

/** An event of a span, or a log record. The body of an event of a span is null. */
export interface ContentEvent {
  name: string;
  attributes: Attributes;
  body: Value;
}

/** The events that contain one message each, with the role of the message. */
const ROLES: Readonly<Record<string, Message['role']>> = {
  'gen_ai.system.message': 'system',
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
  'gen_ai.choice': 'assistant',
};

/** The event whose attributes or body contain the whole conversation of a call. */
const DETAILS = 'gen_ai.client.inference.operation.details';

/** Whether an event contains messages. */
export const isContentEvent = (name: string): boolean => name === DETAILS || Object.hasOwn(ROLES, name);

/** The messages of events, in their order. If the first event DETAILS contains a conversation, only its messages. */
export const messagesOfEvents = (events: readonly ContentEvent[]): Message[] => parsingWithinLimit(() => readMessages(events));

function readMessages(events: readonly ContentEvent[]): Message[] {
  const details = events.find(({ name }) => name === DETAILS);
  if (details !== undefined) {
    const { attributes, body } = details;
    const members = isObject(body) ? new Map([...Object.entries(body), ...attributes]) : attributes;
    const read = readGenAiMessages(members);
    if (read !== undefined) return read.messages;
  }
  return events.flatMap((event) => (Object.hasOwn(ROLES, event.name) ? [messageOf(event)] : []));
}

function messageOf({ name, attributes, body }: ContentEvent): Message {
  const fields: Record<string, Value> = { ...Object.fromEntries(attributes), ...(isObject(body) ? body : {}) };
  const nested = fromJson(fields.message ?? null);
  const message: Record<string, Value> = isObject(nested) ? nested : fields;
  const content = message.content ?? (typeof body === 'string' ? body : null);
  const toolCalls = fromJson(message.tool_calls ?? null);
  return plainMessage({ ...message, content, tool_calls: toolCalls }, ROLES[name]!);
}
