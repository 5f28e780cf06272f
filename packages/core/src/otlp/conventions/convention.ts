import type { Message } from '../../contract/message.ts';
import type { Span } from '../../contract/trace.ts';
import type { Attributes, SpanRecord } from '../records.ts';

/** The kinds of steps that a trace has. */
export type SpanKind = Span['kind'];

/** What of a span is mapped by rules. */
export type Field =
  | 'name'
  | 'model'
  | 'provider'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'total_tokens'
  | 'cost_usd'
  | 'input'
  | 'output'
  | 'tool_arguments'
  | 'tool_result'
  | 'agent_name'
  | 'session_id'
  | 'external_user_id';

/** One row of the mapping: where the value of a field stands, by a convention. */
export interface Rule {
  field: Field;
  /** Names of attributes, the first non-empty one counts. */
  from: readonly string[];
  /** Kinds of spans that it holds for; all when left out. */
  kinds?: readonly SpanKind[];
  /** Whether the value is always JSON text, of a text too. */
  isJson?: true;
  /** Where the convention says so. */
  source: string;
}

/** What kind of step a span is, by one convention. */
export interface KindMatch {
  kind: SpanKind;
  /** The attribute that says so, and its value, which is kept where the kind does not repeat it. */
  attribute: string;
  /** Whether it is an embedding: its tokens and cost count although it is no `llm` step. */
  isEmbedding?: boolean;
}

/** The names that one family of instrumentations uses. */
export interface Convention {
  rules: readonly Rule[];
  /** The kind of a span; undefined when the convention says nothing. */
  kindOf(span: SpanRecord): KindMatch | undefined;
  /** The conversation in the attributes of a span, and the attributes that it was read from. */
  messagesOf?(attributes: Attributes): ReadMessages | undefined;
}

/** A conversation and where it was read. */
export interface ReadMessages {
  messages: Message[];
  /** Names of attributes that are in it. */
  taken: readonly string[];
}
