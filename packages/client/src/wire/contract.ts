// Generated from the schemas of @countersign/core. Do not edit: run `sh scripts/run.sh packages/client/scripts/contract.ts`.
// The members have the same names as in JSON. In a request, `null` is the same as an absent member.

/** One message of a conversation with a model. */
export interface Message {
  /** Who speaks. */
  role: 'system' | 'user' | 'assistant' | 'tool' | 'developer';
  /** Text, or a list of parts in the format of the model API. */
  content?: string | unknown[] | null | undefined;
  /** Name of the speaker or of the tool. */
  name?: string | null | undefined;
  /** The tool call that produced this message. */
  tool_call_id?: string | null | undefined;
  /** Tool calls that the model requests, in the format of the model API. */
  tool_calls?: unknown[] | null | undefined;
}

/** One step of a run: a model call, a tool call, a retrieval, a guardrail, an agent step. */
export interface Span {
  /** ID of the step, unique in a request. A span with the same ID in a later request replaces the step completely. */
  span_id: string;
  /** The parent step, which may arrive later. */
  parent_span_id?: string | null | undefined;
  /** What kind of step it was. */
  kind: 'agent' | 'llm' | 'tool' | 'retrieval' | 'guardrail' | 'other';
  /** Name of the step. */
  name: string;
  /** How the step ended. Default: "success". */
  status?: string | null | undefined;
  /** Model identifier. */
  model?: string | null | undefined;
  /** Model provider identifier. */
  provider?: string | null | undefined;
  /** Tokens sent to the model by the step. */
  prompt_tokens?: number | null | undefined;
  /** Tokens the model produced for the step. */
  completion_tokens?: number | null | undefined;
  /** Total tokens of the step. Default: the sum of the reported prompt and completion tokens. */
  total_tokens?: number | null | undefined;
  /** Cost of the step in US dollars. */
  cost_usd?: number | null | undefined;
  /** The input. */
  input?: unknown;
  /** The output. */
  output?: unknown;
  /** The conversation, in order. */
  messages?: Message[] | null | undefined;
  /** Arguments of the tool call. */
  tool_arguments?: unknown;
  /** The result of the tool call. */
  tool_result?: unknown;
  /** The error, if any. */
  error?: string | null | undefined;
  /** Duration in milliseconds. */
  latency_ms?: number | null | undefined;
  /** When the step began. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  started_at?: string | null | undefined;
  /** When the step ended; stored unchanged, even if it is before the start. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  ended_at?: string | null | undefined;
  /** Free-form. */
  metadata?: Record<string, unknown> | null | undefined;
}

/** The detailed record of one agent run. */
export interface Trace {
  /** The ID of the run, which the client generates and never changes. Traces with the same ID are merged. */
  trace_id: string;
  /** How the run ended. The default applies until a request for this trace_id has an outcome. Default: "success". */
  outcome?: 'success' | 'failure' | 'escalated' | 'blocked' | null | undefined;
  /** A registered agent. */
  agent_id?: string | null | undefined;
  /** Name of the agent; an unknown agent is registered. A new name must be in Unicode NFC, without white space at its ends and without invisible characters. */
  agent_name?: string | null | undefined;
  /** The session that the run belongs to. */
  session_id?: string | null | undefined;
  /** The caller's own user identifier. Never personal data. */
  external_user_id?: string | null | undefined;
  /** Duration of the run in milliseconds. */
  latency_ms?: number | null | undefined;
  /** What the run was about. */
  detail?: string | null | undefined;
  /** The error, if any. */
  error?: string | null | undefined;
  /** When the run began. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  started_at?: string | null | undefined;
  /** When the run ended. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  ended_at?: string | null | undefined;
  /** Free-form. */
  metadata?: Record<string, unknown> | null | undefined;
  /** Tokens sent to the model by the run. Default: the sum over the spans. */
  prompt_tokens?: number | null | undefined;
  /** Tokens the model produced for the run. Default: the sum over the spans. */
  completion_tokens?: number | null | undefined;
  /** Total tokens of the run. Default: prompt + completion if both are sent, otherwise the sum over the spans. */
  total_tokens?: number | null | undefined;
  /** Cost of the run in US dollars. Default: the sum over the spans. */
  cost_usd?: number | null | undefined;
  /** The steps, in order. If absent, stored steps stay unchanged. */
  spans?: Span[] | null | undefined;
}

/** Response to a trace. */
export interface TraceAccepted {
  /** Always true: the record is committed. */
  ok: boolean;
  /** ID of the stored trace, the same for every submission of this trace_id. */
  id: string;
  /** As sent. */
  trace_id: string;
  /** The number of spans in this request. */
  spans_ingested: number;
  /** Total tokens of the merged trace; null if not reported. */
  tokens: number | null;
  /** Cost of the merged trace in US dollars, the number nearest to the exact sum; null if not reported. */
  cost_usd: number | null;
}

/** The lightweight summary of one run. Traces contain more detail. */
export interface TelemetryEvent {
  /** ID of the run. */
  trace_id: string;
  /** How the run ended; any label. */
  outcome: string;
  /** Status of the run; any label. */
  status?: string | null | undefined;
  /** Duration in milliseconds. */
  latency_ms?: number | null | undefined;
  /** How many tool calls the run made. */
  tool_count?: number | null | undefined;
  /** What the run was about. */
  detail?: string | null | undefined;
  /** A registered agent. */
  agent_id?: string | null | undefined;
  /** Name of the agent; an unknown agent is registered. A new name must be in Unicode NFC, without white space at its ends and without invisible characters. */
  agent_name?: string | null | undefined;
  /** Model identifier. */
  model?: string | null | undefined;
  /** Model provider identifier. */
  provider?: string | null | undefined;
  /** Tokens sent to the model by the run. */
  prompt_tokens?: number | null | undefined;
  /** Tokens the model produced for the run. */
  completion_tokens?: number | null | undefined;
  /** Total tokens of the run. Default: the sum of the reported prompt and completion tokens. */
  total_tokens?: number | null | undefined;
  /** Cost of the run in US dollars. */
  cost_usd?: number | null | undefined;
  /** The input. */
  input?: unknown;
  /** The output. */
  output?: unknown;
  /** The conversation, in order. */
  messages?: Message[] | null | undefined;
  /** The error, if any. */
  error?: string | null | undefined;
  /** The session that the run belongs to. */
  session_id?: string | null | undefined;
  /** The caller's own user identifier. Never personal data. */
  external_user_id?: string | null | undefined;
  /** Free-form. */
  metadata?: Record<string, unknown> | null | undefined;
  /** When the run began. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  started_at?: string | null | undefined;
  /** When the run ended. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  ended_at?: string | null | undefined;
}

/** Response to telemetry events. */
export interface TelemetryAccepted {
  /** Always true: the record is committed. */
  ok: boolean;
  /** How many events were stored. */
  ingested: number;
}

/** The outcome of one evaluation run. */
export interface Evaluation {
  /** Name of the evaluation. */
  name: string;
  /** The registered agent that was evaluated. */
  agent_id?: string | null | undefined;
  /** Name of the agent; an unknown agent is registered. A new name must be in Unicode NFC, without white space at its ends and without invisible characters. */
  agent_name?: string | null | undefined;
  /** The harness that ran the evaluation; recorded in lower case. */
  harness_id?: string | null | undefined;
  /** Free-text category. */
  category?: string | null | undefined;
  /** The result of the evaluation. The latest evaluation counts, whatever its status. Default: "passing". */
  status?: 'scheduled' | 'running' | 'passing' | 'failing' | null | undefined;
  /** Share of passed cases, in percent. */
  pass_rate?: number | null | undefined;
  /** Notes for people. */
  notes?: string | null | undefined;
  /** The lowest severity at which a finding counted. */
  severity_threshold?: number | null | undefined;
}

/** Response to an evaluation. */
export interface EvaluationAccepted {
  /** Always true: the record is committed. */
  ok: boolean;
  /** ID of the evaluation. */
  id: string;
}

/** How many cases the evaluation had. With `passed`, `total` is the sum of the four parts, and a part that is left out counts as 0. Without `passed`, scores are not binary, and `total` is at least errored + skipped. */
export interface CaseCounts {
  /** All cases. With passed: the sum of passed, failed, errored and skipped. */
  total: number;
  /** Cases that passed. Leave out passed and failed if scores are not binary. */
  passed?: number | null | undefined;
  /** Cases that failed; default 0 if passed is sent. */
  failed?: number | null | undefined;
  /** Cases that ended with an error and have no score. Default: 0. */
  errored?: number | null | undefined;
  /** Cases that were not run. Default: 0. */
  skipped?: number | null | undefined;
}

/** The set of cases that an evaluation ran. */
export interface EvaluationSuite {
  /** Name of the suite. */
  name: string;
  /** Version of the suite, as its authors number it. */
  version?: string | null | undefined;
  /** Digest of the suite: it identifies exactly what was run. `sha256:<64 hex>`, `sha512:<128 hex>` or `gitCommit:<40 or 64 hex>`, in lower case. */
  digest?: string | null | undefined;
}

/** The outcome of one evaluation run, with its cases, time, suite and artifact. */
export interface DetailedEvaluation {
  /** Name of the evaluation. */
  name: string;
  /** The registered agent that was evaluated. */
  agent_id?: string | null | undefined;
  /** Name of the agent; an unknown agent is registered. A new name must be in Unicode NFC, without white space at its ends and without invisible characters. */
  agent_name?: string | null | undefined;
  /** The harness that ran the evaluation; recorded in lower case. */
  harness_id?: string | null | undefined;
  /** Free-text category. */
  category?: string | null | undefined;
  /** The result of the evaluation. The latest evaluation counts, whatever its status. Default: "passing". */
  status?: 'scheduled' | 'running' | 'passing' | 'failing' | null | undefined;
  /** Notes for people. */
  notes?: string | null | undefined;
  /** The lowest severity at which a finding counted. */
  severity_threshold?: number | null | undefined;
  /** Share of passed cases, in percent; by default computed from cases. If both are sent, they may differ by at most 0.1 percentage points, and the lower one counts. Without cases.passed, pass_rate may be at most 0.1 percentage points above the share of scored cases. */
  pass_rate?: number | null | undefined;
  /** When the evaluation ran, by its sender's clock. The evaluation's age counts from this time or the time of recording, whichever is earlier. RFC 3339 with up to 9 fraction digits, in the years 1 to 9999 in UTC; without an offset it is UTC. */
  evaluated_at?: string | null | undefined;
  /** The counts of cases by outcome. */
  cases?: CaseCounts | null | undefined;
  /** true: skipped cases are not in the denominator of the pass rate. false: they count as not passed. Default: false. */
  skipped_excluded?: boolean | null | undefined;
  /** true: only a part of the suite ran. The same as completeness `partial`. */
  partial?: boolean | null | undefined;
  /** How much of the suite ran; `unknown` if the tool does not report it. Promotion checks do not use it. */
  completeness?: 'complete' | 'partial' | 'unknown' | null | undefined;
  /** Names of failed cases that matter whatever the pass rate is. They are for people: promotion checks do not use them. */
  blocking_failures?: string[] | null | undefined;
  /** Highest severity found, on the scale of severity_threshold. Promotion checks do not use it. */
  max_severity?: number | null | undefined;
  /** The set of cases that ran. Promotion checks name it in messages, but no verdict depends on it. */
  suite?: EvaluationSuite | null | undefined;
  /** SHA-256 of the evaluation tool's results file, 64 lower-case hex digits. */
  results_sha256?: string | null | undefined;
  /** Page of the run, http or https; at most 2,048 characters, without a user name or password. */
  run_url?: string | null | undefined;
  /** trace_id of the runs that were evaluated, as sent to the traces endpoint. */
  trace_ids?: string[] | null | undefined;
  /** Digest of what was evaluated: image, commit, package or configuration. Promotion checks do not use it. `sha256:<64 hex>`, `sha512:<128 hex>` or `gitCommit:<40 or 64 hex>`, in lower case. */
  artifact?: string | null | undefined;
}

/** Response to a detailed evaluation. */
export interface DetailedEvaluationAccepted {
  /** Always true: the record is committed. */
  ok: boolean;
  /** ID of the evaluation. */
  id: string;
  /** The pass rate that promotion checks use, in percent. null if there is none: promotion checks then block. */
  pass_rate: number | null;
}

/** One entry for the tenant's hash-chained ledger. */
export interface AuditEntry {
  /** Who performed the action, according to the sender; `recorded_by` is the verified writer. */
  actor: string;
  /** Dotted form, <domain>.<verb>. */
  action: string;
  /** What the action applied to. */
  subject?: string | null | undefined;
  /** Why. */
  rationale?: string | null | undefined;
  /** Regulatory or policy framework. */
  framework?: string | null | undefined;
  /** The run that the entry is about. */
  trace_id?: string | null | undefined;
  /** The registered agent that the entry is about. */
  agent_id?: string | null | undefined;
  /** Retention keeps the run in `trace_id` at least until this day (UTC). */
  retention_until?: string | null | undefined;
  /** Free-form. It is hashed, so every number must be exact (docs/formats.md, "Exact numbers"). */
  metadata?: Record<string, unknown> | null | undefined;
}

/** Response to an audit entry: its hash and its link to the previous entry. */
export interface AuditEntryAppended {
  /** Always true: the record is committed. */
  ok: boolean;
  /** ID of the entry. */
  id: string;
  /** The hash of this entry in the chain: SHA-256, hex (docs/formats.md). */
  row_hash: string;
  /** row_hash of the previous entry; null for the first entry. */
  prev_hash: string | null;
}

/** May this agent be promoted? Send agent_id or agent_name. */
export type PromotionCheck = {
  /** ID of the agent. Send agent_id or agent_name. */
  agent_id?: string | null | undefined;
  /** Name of the agent. Send agent_id or agent_name. */
  agent_name?: string | null | undefined;
  /** Use only evaluations of this harness. */
  harness_id?: string | null | undefined;
  /** The required pass rate, in percent. Default: 80. */
  min_pass_rate?: number | null | undefined;
  /** The maximum age of the evaluation, in hours. Default: 72. */
  max_age_hours?: number | null | undefined;
} & ({ agent_id: string } | { agent_name: string });

/** One of the four conditions of a decision, as evaluated. */
export interface ConditionCheck {
  /** Which condition. */
  condition: 'recent_passing_evaluation' | 'pass_rate' | 'high_risk_approval' | 'recertification';
  /** Whether the condition holds. */
  passed: boolean;
  /** Why it fails; null if it holds. */
  reason:
    | 'no_recent_evaluation'
    | 'evaluation_not_passing'
    | 'pass_rate_below_threshold'
    | 'approval_required'
    | 'approval_rejected'
    | 'recertification_open'
    | 'all_conditions_met'
    | null;
  /** One sentence a person can act on. */
  message: string;
}

/** The evaluation that a decision is based on. */
export interface DecidedEvaluation {
  /** ID of the evaluation. */
  id: string;
  /** Its name. */
  name: string;
  /** Its status. */
  status: 'scheduled' | 'running' | 'passing' | 'failing';
  /** Its pass rate, in percent. */
  pass_rate: number | null;
  /** Its category. */
  category: string | null;
  /** Its harness. */
  harness_id: string | null;
  /** When the service recorded it. */
  recorded_at: string;
  /** Who submitted it: key:<prefix>. */
  recorded_by: string;
  /** When it ran, according to its sender; absent if unknown. If this time is earlier than recorded_at, the age counts from it. */
  evaluated_at?: string | undefined;
  /** Name of the agent that was evaluated: the signature binds the decision to it. */
  agent_name: string;
}

/** Replaces the evaluation if a decision has none: `{}`. */
export type NoEvaluation = { [Member in keyof DecidedEvaluation]?: undefined };

/** The signed decision. A blocked decision also has status 200. */
export interface PromotionDecision {
  /** Whether the agent may be promoted. Test this member. */
  allowed: boolean;
  /** Why the first failing condition fails, or all_conditions_met. */
  reason:
    | 'no_recent_evaluation'
    | 'evaluation_not_passing'
    | 'pass_rate_below_threshold'
    | 'approval_required'
    | 'approval_rejected'
    | 'recertification_open'
    | 'all_conditions_met';
  /** One or two sentences that a person can act on. */
  message: string;
  /** The event this decision records. */
  event: 'promotion.allowed' | 'promotion.blocked' | 'evaluation.failed' | 'approval.required';
  /** The evaluation used; null without one. */
  evaluation_id: string | null;
  /** The agent; null when it is not known. */
  agent_id: string | null;
  /** The rule that decided, <rule-name>/<version>. */
  policy: string;
  /** The pass rate required (same as required_threshold). */
  threshold: number;
  /** The pass rate required. */
  required_threshold: number;
  /** The pass rate of the latest evaluation; null when none is reported. */
  actual_threshold: number | null;
  /** Age of the evaluation in hours, rounded away from zero to at most 4 decimals. It counts from evaluated_at or the time of recording, whichever is earlier. It is negative if recorded_at is in the future. */
  evaluation_age: number | null;
  /** The evaluation used, as it was at the time of the decision; {} without one. */
  evaluation: DecidedEvaluation | NoEvaluation;
  /** All four conditions. */
  checks: ConditionCheck[];
  /** ID of the decision, which is stored as it was signed. */
  decision_id: string;
  /** ID of the signing key. */
  key_id: string;
  /** When the decision was made. */
  timestamp: string;
  /** The workspace of the key that sent the request. */
  tenant_id: string;
  /** The key that sent the request: key:<prefix>. */
  asked_by: string;
  /** SHA-256, in hex, of the evidence document, from which the decision was computed (docs/formats.md, "Evidence"). */
  evidence_sha256: string;
  /** The evidence was computed from this many events of the evidence log (docs/formats.md, "Evidence event"). */
  evidence_size: number;
  /** The harness in the request, in lower case; null if the request names none (any harness). */
  harness_id: string | null;
  /** The age limit of the check, in hours: the value in the request, or the default. */
  max_age_hours: number;
  /** The request's Countersign-Nonce; absent without one. */
  nonce?: string | undefined;
  /** SHA-256 of the canonical decision, hex (docs/formats.md). */
  response_sha256: string;
  /** HMAC-SHA256 with the tenant's decision key, hex. */
  signature: string;
  /** The signature algorithm. */
  signature_alg: 'HMAC-SHA256';
}

/** One error in a request. */
export interface Issue {
  /** JSON Pointer (RFC 6901) to the place in the body; empty if the error is elsewhere or concerns the whole body. */
  path: string;
  /** Stable code. */
  code: string;
  /** What is wrong, where, and the remedy, for a person. */
  message: string;
}

/** The body of every error response. */
export interface ErrorBody {
  /** Stable code from the error table. */
  error: string;
  /** What is wrong, where, and the remedy. Empty if the code is enough. */
  issues: Issue[];
}
