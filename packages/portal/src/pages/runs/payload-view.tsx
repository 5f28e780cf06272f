import type { ResponseBody } from '../../api/call.ts';
import { Snippet } from '../../components/snippet.tsx';
import { Conversation } from './conversation.tsx';
import styles from './payload-view.module.css';
import { RoundedNumbers } from './rounded-numbers.tsx';

type Payload = ResponseBody<'runs.span'>['payload'];

/** The content of a step or an event: conversation, tool call, input, output and other fields. */
export function PayloadView({ payload }: { payload: Payload }) {
  const { messages, tool_arguments, tool_result, input, output, metadata, others } = payload;
  return (
    <div className={styles.payload}>
      <RoundedNumbers value={payload} />
      {Array.isArray(messages) && messages.length > 0 && (
        <section>
          <h3>Conversation</h3>
          <Conversation messages={messages} />
        </section>
      )}
      <Value title="Tool arguments" value={tool_arguments} />
      <Value title="Tool result" value={tool_result} />
      <Value title="Input" value={input} />
      <Value title="Output" value={output} />
      <Value title="Metadata" value={metadata} />
      <Value title="Other fields" value={others} />
    </div>
  );
}

function Value({ title, value }: { title: string; value: unknown }) {
  if (value === undefined || value === null) return null;
  return (
    <section>
      <h3>{title}</h3>
      <Snippet text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} what={title.toLowerCase()} />
    </section>
  );
}
