import type { Message } from '../../contract/message.ts';
import type { Attributes, Value } from '../records.ts';
import type { Convention, DocumentsWithSource, KindMatch, MessagesWithSource, SpanKind } from './convention.ts';
import { branch, items, leaf, subtree, type Tree } from './indexed.ts';
import { fromJson } from './json-text.ts';
import { contentOf, plainMessage, toolCall } from './messages.ts';

const SPEC = 'https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md';

const KIND = 'openinference.span.kind';
const KINDS: Readonly<Record<string, SpanKind>> = {
  AGENT: 'agent',
  LLM: 'llm',
  TOOL: 'tool',
  RETRIEVER: 'retrieval',
  RERANKER: 'retrieval',
  GUARDRAIL: 'guardrail',
  CHAIN: 'other',
  PROMPT: 'other',
  EVALUATOR: 'other',
  EMBEDDING: 'other',
};

const MODELS = [
  'llm.response.model_name',
  'llm.model_name',
  'llm.request.model_name',
  'embedding.model_name',
  'reranker.model_name',
] as const;

/** OpenInference, the conventions of Arize Phoenix. */
export const openInference: Convention = {
  kindOf({ attributes }): KindMatch | undefined {
    const kind = attributes.get(KIND);
    const name = typeof kind === 'string' ? kind.toUpperCase() : '';
    if (!Object.hasOwn(KINDS, name)) return undefined;
    return { kind: KINDS[name]!, isEmbedding: name === 'EMBEDDING' };
  },
  messagesOf: readMessages,
  documentsOf: readDocuments,
  rules: [
    { field: 'model', from: MODELS, source: SPEC },
    { field: 'provider', from: ['llm.provider', 'llm.system'], source: SPEC },
    { field: 'prompt_tokens', from: ['llm.token_count.prompt'], source: SPEC },
    { field: 'completion_tokens', from: ['llm.token_count.completion'], source: SPEC },
    { field: 'total_tokens', from: ['llm.token_count.total'], source: SPEC },
    { field: 'cost_usd', from: ['llm.cost.total'], source: SPEC },
    { field: 'tool_arguments', from: ['input.value'], kinds: ['tool'], source: SPEC },
    { field: 'tool_result', from: ['output.value'], kinds: ['tool'], source: SPEC },
    { field: 'input', from: ['input.value'], source: SPEC },
    { field: 'output', from: ['output.value'], source: SPEC },
    { field: 'agent_name', from: ['agent.name'], source: SPEC },
    { field: 'session_id', from: ['session.id'], source: SPEC },
  ],
};

/** Reads `llm.input_messages.N.message.*` and `llm.output_messages.N.message.*`. */
function readMessages(attributes: Attributes): MessagesWithSource | undefined {
  const input = subtree(attributes, 'llm.input_messages');
  const output = subtree(attributes, 'llm.output_messages');
  const messages = [
    ...items(input.tree).map((each) => messageOf(branch(each, 'message') ?? new Map(), 'user')),
    ...items(output.tree).map((each) => messageOf(branch(each, 'message') ?? new Map(), 'assistant')),
  ];
  return messages.length === 0 ? undefined : { messages, sourceNames: [...input.names, ...output.names] };
}

/** Where retrievers and rerankers list their results. */
const DOCUMENTS = ['retrieval.documents', 'reranker.output_documents'] as const;
const DOCUMENT_MEMBERS = ['id', 'content', 'score', 'metadata'] as const;

/** Reads `retrieval.documents.N.document.*`, or if there are none `reranker.output_documents.N.document.*`. */
function readDocuments(attributes: Attributes): DocumentsWithSource | undefined {
  for (const prefix of DOCUMENTS) {
    const { tree, names } = subtree(attributes, prefix);
    const documents = items(tree).map((each) => documentOf(branch(each, 'document') ?? new Map()));
    if (documents.length > 0) return { documents, sourceNames: names };
  }
  return undefined;
}

const documentOf = (tree: Tree): Value =>
  Object.fromEntries(
    DOCUMENT_MEMBERS.flatMap((member): [string, Value][] => {
      const value = leaf(tree, member);
      return value === undefined ? [] : [[member, member === 'metadata' ? fromJson(value) : value]];
    }),
  );

function messageOf(tree: Tree, fallback: Message['role']): Message {
  const parts = items(branch(tree, 'contents')).flatMap((each) => partOf(branch(each, 'message_content')));
  const calls = items(branch(tree, 'tool_calls')).map((each) => {
    const call = branch(each, 'tool_call');
    return toolCall(leaf(call, 'id'), leaf(call, 'function', 'name'), fromJson(leaf(call, 'function', 'arguments') ?? null));
  });
  return plainMessage(
    {
      role: leaf(tree, 'role') ?? null,
      content: leaf(tree, 'content') ?? contentOf(parts).content ?? null,
      name: leaf(tree, 'name') ?? null,
      tool_call_id: leaf(tree, 'tool_call_id') ?? null,
      tool_calls: calls,
    },
    fallback,
  );
}

/** The text or image of a part of a message; empty for any other part, for example a tool call, which `tool_calls` contains. */
function partOf(part: Tree | undefined): Value[] {
  const text = leaf(part, 'text');
  if (text !== undefined) return [{ type: 'text', text }];
  const image = leaf(part, 'image', 'image', 'url');
  return image === undefined ? [] : [{ type: 'image', url: image }];
}
