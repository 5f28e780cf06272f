import type { Message } from '../../contract/message.ts';
import type { Span } from '../../contract/trace.ts';
import type { Attributes, SpanRecord, Value } from '../records.ts';

/** The kind of a step. */
export type SpanKind = Span['kind'];

/** The fields of a step or of its trace to which rules map attributes. */
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

/** One row of the mapping: the attributes that a convention has for a field. */
export interface Rule {
  field: Field;
  /** Names of attributes. The first one with an accepted value is used. */
  from: readonly string[];
  /** If set, the attribute is an object, or its JSON text. The first of these members with an accepted value is used. */
  members?: readonly string[];
  /** The kinds of spans that the rule applies to; all if omitted. */
  kinds?: readonly SpanKind[];
  /** Whether the value is always JSON text, so that a string has quotation marks. */
  isJson?: true;
  /** The URL of the specification or code that the rule is taken from. */
  source: string;
}

/** The kind of a span according to one convention. */
export interface KindMatch {
  kind: SpanKind;
  /** Whether the span is an embedding. Its tokens and cost are counted, although it is not an `llm` step. */
  isEmbedding?: boolean;
}

/** How one family of instrumentations names its attributes. */
export interface Convention {
  rules: readonly Rule[];
  /** The kind of a span; undefined if the convention does not determine it. */
  kindOf(span: SpanRecord): KindMatch | undefined;
  /** The conversation in the attributes of a span, and the attributes that it was read from; undefined if there is none. */
  messagesOf?(attributes: Attributes): MessagesWithSource | undefined;
  /** The documents that a retrieval found, for conventions in which each document has its own attributes; undefined if there are none. */
  documentsOf?(attributes: Attributes): DocumentsWithSource | undefined;
}

/** Documents and their source. */
export interface DocumentsWithSource {
  documents: Value[];
  /** Names of the attributes that the documents were read from. */
  sourceNames: readonly string[];
}

/** A conversation and its source. */
export interface MessagesWithSource {
  messages: Message[];
  /** Names of the attributes that the conversation was read from. */
  sourceNames: readonly string[];
}
