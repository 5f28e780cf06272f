import type { Message } from '../contract/message.ts';
import { converseMessages } from './conventions/converse.ts';
import { readGenAiMessages } from './conventions/gen-ai.ts';
import { fromJson, withParseLimit } from './conventions/json-text.ts';
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

/** The name of the event whose attributes or body contain the conversation of a call. Some senders use an event for each attribute. */
const DETAILS_EVENT = 'gen_ai.client.inference.operation.details';

/** Whether an event contains messages. */
export const isContentEvent = (name: string): boolean => name === DETAILS_EVENT || Object.hasOwn(ROLES, name);

/** The messages of events, in their order. If events named DETAILS_EVENT contain a conversation, only the messages of that conversation. */
export const messagesOfEvents = (events: readonly ContentEvent[]): Message[] => withParseLimit(() => readMessages(events));

function readMessages(events: readonly ContentEvent[]): Message[] {
  const conversation = readGenAiMessages(membersOfDetails(events));
  return conversation?.messages ?? events.flatMap((event) => (Object.hasOwn(ROLES, event.name) ? messagesOf(event) : []));
}

/**
 * The members of all events named DETAILS_EVENT. If a name repeats, the first event takes precedence; within one event, the attributes take
 * precedence over the body.
 */
function membersOfDetails(events: readonly ContentEvent[]): Attributes {
  const members: Attributes = new Map();
  for (const { name, attributes, body } of events) {
    if (name !== DETAILS_EVENT) continue;
    for (const [member, value] of [...attributes, ...(isObject(body) ? Object.entries(body) : [])])
      if (!members.has(member)) members.set(member, value);
  }
  return members;
}

function messagesOf({ name, attributes, body }: ContentEvent): Message[] {
  const fields: Record<string, Value> = { ...Object.fromEntries(attributes), ...(isObject(body) ? body : {}) };
  const nested = fromJson(fields.message ?? null);
  const message: Record<string, Value> = isObject(nested) ? nested : fields;
  const content = message.content ?? (isObject(nested) ? null : nested) ?? (typeof body === 'string' ? body : null);
  const role = ROLES[name]!;
  const blockMessages = converseMessages(content, role);
  if (blockMessages !== undefined) return blockMessages;
  const toolCalls = fromJson(message.tool_calls ?? null);
  return [plainMessage({ ...message, content, tool_calls: toolCalls }, role)];
}
