import { type Static, Type } from 'typebox';
import { anyArray, label, oneOf, optional } from './scalars.ts';

/** One message of a conversation with a model, in traces' spans and in telemetry events. */
export const Message = Type.Object(
  {
    role: oneOf(['system', 'user', 'assistant', 'tool', 'developer'], { description: 'Who speaks.', examples: ['assistant'] }),
    content: optional(
      Type.Unsafe<string | unknown[]>({
        type: ['string', 'array'],
        description: 'Text, or a list of parts in the format of the model API.',
        examples: ['Your flight is booked.'],
      }),
    ),
    name: optional(label({ description: 'Name of the speaker or of the tool.' })),
    tool_call_id: optional(label({ description: 'The tool call that produced this message.' })),
    tool_calls: optional(anyArray({ description: 'Tool calls that the model requests, in the format of the model API.' })),
  },
  { $id: 'Message', description: 'One message of a conversation with a model.' },
);
export type Message = Static<typeof Message>;

/** The `messages` member of spans and events. */
export const messages = () =>
  optional(Type.Unsafe<Message[]>({ type: 'array', items: Message, description: 'The conversation, in order.' }));
