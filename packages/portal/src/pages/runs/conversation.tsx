import { parseLine } from '@countersign/core/domain/export-line';
import styles from './conversation.module.css';

/** A message as it was sent. The fields are not validated. */
interface Message {
  role?: unknown;
  name?: unknown;
  content?: unknown;
  tool_call_id?: unknown;
  tool_calls?: unknown;
}

/** Messages as a conversation with roles, content and tool calls. */
export function Conversation({ messages }: { messages: readonly unknown[] }) {
  return (
    <ol className={styles.conversation}>
      {messages.map((each, index) => {
        const { role, name, content, tool_call_id, tool_calls } = (
          typeof each === 'object' && each !== null ? each : { content: each }
        ) as Message;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ID, and their order never changes.
          <li key={index} data-role={String(role ?? 'other')}>
            <p className={styles.who}>
              {String(role ?? 'message')}
              {name !== undefined && name !== null && <span> · {String(name)}</span>}
              {tool_call_id !== undefined && tool_call_id !== null && <span> · answers {String(tool_call_id)}</span>}
            </p>
            {partsOf(content).map((part, partIndex) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above.
              <div key={partIndex} className={part.isCode ? styles.code : styles.text}>
                {part.text}
              </div>
            ))}
            {Array.isArray(tool_calls) &&
              tool_calls.map((call, callIndex) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <div key={callIndex} className={styles.call}>
                  <span>calls {toolNameOf(call)}</span>
                  <pre>{argumentsOf(call)}</pre>
                </div>
              ))}
          </li>
        );
      })}
    </ol>
  );
}

interface Part {
  text: string;
  isCode: boolean;
}

/** The parts of the content of a message. A part without text is shown as JSON (`isCode`). */
function partsOf(content: unknown): Part[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ text: content, isCode: false }];
  if (!Array.isArray(content)) return [{ text: JSON.stringify(content, null, 2), isCode: true }];
  return content.map((part) => {
    const { text } = (typeof part === 'object' && part !== null ? part : {}) as { text?: unknown };
    return typeof text === 'string' ? { text, isCode: false } : { text: JSON.stringify(part, null, 2), isCode: true };
  });
}

/** The name of the called tool, in the formats of the common model APIs; `a tool` if there is no name. */
function toolNameOf(call: unknown): string {
  const { name, function: toolFunction } = (call ?? {}) as { name?: unknown; function?: { name?: unknown } };
  return String(toolFunction?.name ?? name ?? 'a tool');
}

/**
 * The arguments of a call as indented JSON. A text is returned unchanged if it is not JSON, or if parsing would change it, for example
 * by rounding a number above 2^53. If a call has no arguments, the whole call is returned.
 */
function argumentsOf(call: unknown): string {
  const {
    input,
    arguments: argumentText,
    function: toolFunction,
  } = (call ?? {}) as { input?: unknown; arguments?: unknown; function?: { arguments?: unknown } };
  const value = toolFunction?.arguments ?? argumentText ?? input ?? call;
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  const parsed = parseLine(value);
  return 'fault' in parsed ? value : JSON.stringify(parsed.value, null, 2);
}
