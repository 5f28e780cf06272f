import type { Convention, KindMatch, SpanKind } from './convention.ts';

const SPEC =
  'https://github.com/traceloop/openllmetry/blob/main/packages/opentelemetry-semantic-conventions-ai/opentelemetry/semconv_ai/__init__.py';

const KIND = 'traceloop.span.kind';
const KINDS: Readonly<Record<string, SpanKind>> = { agent: 'agent', workflow: 'agent', tool: 'tool', task: 'other' };
const REQUEST_TYPE = 'llm.request.type';

/** OpenLLMetry, the conventions of Traceloop. */
export const openLlmetry: Convention = {
  kindOf({ attributes }): KindMatch | undefined {
    const kind = attributes.get(KIND);
    if (typeof kind === 'string' && Object.hasOwn(KINDS, kind)) return { kind: KINDS[kind]! };
    const request = attributes.get(REQUEST_TYPE);
    if (request === 'chat' || request === 'completion') return { kind: 'llm' };
    if (request === 'embedding') return { kind: 'other', isEmbedding: true };
    return request === 'rerank' ? { kind: 'retrieval' } : undefined;
  },
  rules: [
    { field: 'total_tokens', from: ['llm.usage.total_tokens', 'gen_ai.usage.total_tokens'], source: SPEC },
    { field: 'tool_arguments', from: ['traceloop.entity.input'], kinds: ['tool'], source: SPEC },
    { field: 'tool_result', from: ['traceloop.entity.output'], kinds: ['tool'], source: SPEC },
    { field: 'input', from: ['traceloop.entity.input'], source: SPEC },
    { field: 'output', from: ['traceloop.entity.output'], source: SPEC },
    { field: 'agent_name', from: ['gen_ai.workflow.name', 'traceloop.workflow.name'], source: SPEC },
    { field: 'session_id', from: ['traceloop.association.properties.session_id'], source: SPEC },
    { field: 'external_user_id', from: ['traceloop.association.properties.user_id'], source: SPEC },
  ],
};
