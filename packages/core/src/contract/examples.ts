import type { AuditEntry, AuditEntryAppended } from './audit-entry.ts';
import type { DetailedEvaluation, DetailedEvaluationAccepted } from './detailed-evaluation.ts';
import type { Evaluation, EvaluationAccepted } from './evaluation.ts';
import type { OperationId } from './operations.ts';
import type { PromotionCheck, PromotionDecision } from './promotion-check.ts';
import type { TelemetryAccepted, TelemetryBatch, TelemetryEvent } from './telemetry.ts';
import type { Trace, TraceAccepted } from './trace.ts';

/** A request and its response, for the OpenAPI document and the docs page. A test sends every request to a real server. */
export interface Example {
  summary: string;
  request: unknown;
  response: unknown;
}

const agentId = '0198f1c2-7d3e-7a41-9b1e-3f2a5c6d7e8f';
const evaluationId = '0198f1c2-8a10-7c55-8f20-6a1b2c3d4e5f';

const trace: Trace = {
  trace_id: 'run-2026-11-20-0001',
  outcome: 'success',
  agent_name: 'support-bot',
  session_id: 'session-77',
  external_user_id: 'user-4711',
  started_at: '2026-11-20T09:30:00.000Z',
  ended_at: '2026-11-20T09:30:02.140Z',
  latency_ms: 2140,
  spans: [
    {
      span_id: 's1',
      kind: 'llm',
      name: 'plan',
      model: 'gpt-4o',
      provider: 'openai',
      prompt_tokens: 812,
      completion_tokens: 64,
      cost_usd: 0.0042,
      latency_ms: 950,
      messages: [
        { role: 'user', content: 'Where is my order?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find_order', arguments: '{"id":7}' } }],
        },
      ],
    },
    {
      span_id: 's2',
      parent_span_id: 's1',
      kind: 'tool',
      name: 'find_order',
      tool_arguments: { id: 7 },
      tool_result: { status: 'shipped' },
      latency_ms: 120,
    },
  ],
};
const traceAccepted: TraceAccepted = {
  ok: true,
  id: '0198f1c2-7d40-7b02-a4d5-0c1d2e3f4a5b',
  trace_id: trace.trace_id,
  spans_ingested: 2,
  tokens: 876,
  cost_usd: 0.0042,
};

const event: TelemetryEvent = {
  trace_id: 'run-2026-11-20-0002',
  outcome: 'success',
  agent_name: 'support-bot',
  model: 'gpt-4o',
  prompt_tokens: 300,
  completion_tokens: 40,
  latency_ms: 800,
};
const batch: TelemetryBatch = {
  events: [event, { trace_id: 'run-2026-11-20-0003', outcome: 'failure', agent_name: 'support-bot', error: 'timeout' }],
};
const telemetryAccepted = (count: number): TelemetryAccepted => ({ ok: true, ingested: count });

const evaluation: Evaluation = {
  name: 'nightly-regression',
  agent_name: 'support-bot',
  category: 'regression',
  status: 'passing',
  pass_rate: 92.5,
  notes: '37 of 40 cases',
};
const evaluationAccepted: EvaluationAccepted = { ok: true, id: evaluationId };

const detailedEvaluation: DetailedEvaluation = {
  name: 'nightly safety',
  agent_name: 'support-bot',
  status: 'passing',
  evaluated_at: '2026-11-20T08:02:11Z',
  cases: { total: 42, passed: 37, failed: 2, errored: 1, skipped: 2 },
  skipped_excluded: true,
  completeness: 'complete',
  max_severity: 1,
  suite: { name: 'safety', version: '2026.4' },
  results_sha256: '5f2b6f5d0a2e4f6f1b1a6f0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e',
  run_url: 'https://ci.example.com/runs/7',
  trace_ids: ['run-2026-11-20-0001'],
  artifact: 'gitCommit:4caa85f0b1d2c3e4f5061728394a5b6c7d8e9f01',
};
const detailedEvaluationAccepted: DetailedEvaluationAccepted = { ok: true, id: evaluationId, pass_rate: 92.5 };

const auditEntry: AuditEntry = {
  actor: 'ci:deploy-prod',
  action: 'agent.promoted',
  subject: 'support-bot',
  rationale: 'Nightly regression passed; release 2026.47',
  framework: 'EU AI Act',
  retention_until: '2033-12-31',
  metadata: { release: '2026.47', pipeline: 'https://ci.example.com/runs/7' },
};
const entryAppended: AuditEntryAppended = {
  ok: true,
  id: '0198f1c2-9b20-7d66-9a31-7b2c3d4e5f60',
  row_hash: '5f2b6f5d0a2e4f6f1b1a6f0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e',
  prev_hash: null,
};

const promotionCheck: PromotionCheck = { agent_name: 'support-bot', min_pass_rate: 90, max_age_hours: 24 };
const allowedDecision: PromotionDecision = {
  allowed: true,
  reason: 'all_conditions_met',
  message:
    'support-bot may be promoted: all four conditions are met, and the decision rests on "nightly-regression" (92.5 %, 1 hour ago).',
  event: 'promotion.allowed',
  evaluation_id: evaluationId,
  agent_id: agentId,
  policy: 'recent-passing-evaluation/v1',
  threshold: 90,
  required_threshold: 90,
  actual_threshold: 92.5,
  evaluation_age: 1.25,
  evaluation: {
    id: evaluationId,
    name: 'nightly-regression',
    status: 'passing',
    pass_rate: 92.5,
    category: 'regression',
    harness_id: null,
    recorded_at: '2026-11-20T08:15:00.000Z',
    recorded_by: 'key:5f0c2a9be671',
    agent_name: 'support-bot',
  },
  checks: [
    {
      condition: 'recent_passing_evaluation',
      passed: true,
      reason: null,
      message: 'The latest evaluation is passing and 1.25 hours old, the limit is 24 hours.',
    },
    { condition: 'pass_rate', passed: true, reason: null, message: 'The pass rate is 92.5 %, and 90 % is required.' },
    { condition: 'high_risk_approval', passed: true, reason: null, message: 'The agent is not high-risk.' },
    { condition: 'recertification', passed: true, reason: null, message: 'No re-certification is open.' },
  ],
  decision_id: '0198f1c2-ac30-7e77-8b42-8c3d4e5f6071',
  key_id: 'dk_5f0c2a9be671',
  timestamp: '2026-11-20T09:30:00.123Z',
  tenant_id: '0198f1c2-7a00-7b33-8c44-4a5b6c7d8e9f',
  asked_by: 'key:4f9a02c7d1e6',
  evidence_sha256: 'c1e08f8f6f5c0b6a4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c',
  evidence_size: 412,
  harness_id: null,
  max_age_hours: 24,
  response_sha256: '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
  signature: '0d3c8a7b6e5f4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0f9e8d7c6b5a',
  signature_alg: 'HMAC-SHA256',
};

/** Examples of each operation, by name. Hashes and signatures in responses show only their form. */
export const examples: Record<OperationId, Record<string, Example>> = {
  ingestTrace: { run: { summary: 'A run with a model call and a tool call', request: trace, response: traceAccepted } },
  ingestTelemetry: {
    one: { summary: 'One event', request: event, response: telemetryAccepted(1) },
    batch: { summary: 'A batch', request: batch, response: telemetryAccepted(2) },
  },
  recordEvaluation: { passing: { summary: 'A passing evaluation', request: evaluation, response: evaluationAccepted } },
  appendAuditEntry: { promoted: { summary: 'A promotion that a pipeline made', request: auditEntry, response: entryAppended } },
  recordDetailedEvaluation: {
    cases: {
      summary: 'A passing evaluation with its cases',
      request: detailedEvaluation,
      response: detailedEvaluationAccepted,
    },
  },
  checkPromotion: {
    allowed: { summary: 'A stricter threshold than the default', request: promotionCheck, response: allowedDecision },
  },
};
