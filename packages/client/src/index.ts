export type { ClientOptions } from './client-options.ts';
export { Countersign } from './countersign.ts';
export {
  ApiError,
  AuthenticationError,
  BadGatewayError,
  BadRequestError,
  ConfigurationError,
  ConnectionError,
  CountersignError,
  GatewayTimeoutError,
  HeadersTooLargeError,
  InternalServerError,
  MethodNotAllowedError,
  MisdirectedRequestError,
  NotFoundError,
  PayloadTooLargeError,
  RateLimitedError,
  RequestTimeoutError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
  UnsupportedMediaTypeError,
  ValidationError,
} from './http/errors.ts';
export type { FetchLike, FetchRequest, FetchResponse } from './http/fetch-like.ts';
export { type Receipt, receiptOf } from './http/receipt.ts';
export type { RetryOptions } from './http/retry-pace.ts';
export type { CallOptions } from './http/transport.ts';
export type { Logger } from './log.ts';
export type { Audit } from './namespaces/audit.ts';
export type { Evaluations } from './namespaces/evaluations.ts';
export type { CheckOptions, Governance } from './namespaces/governance.ts';
export type { TelemetryStats } from './telemetry/delivery-counts.ts';
export type { Telemetry } from './telemetry/telemetry.ts';
export type { TelemetryOptions } from './telemetry/telemetry-options.ts';
export type { DroppedEvents, DropReason, RejectedEvent, SendFailure, TelemetryCallbacks } from './telemetry/telemetry-reports.ts';
export type { MessageLike, RunSpan, SpanDetails, SpanStart } from './tracing/run-span.ts';
export { type TokenUsage, tokenUsage } from './tracing/token-usage.ts';
export type { DroppedRun, RejectedRun, TraceCallbacks } from './tracing/trace-reports.ts';
export type { RunDetails, RunStart, TraceRun } from './tracing/trace-run.ts';
export type { Traces } from './tracing/traces.ts';
export type { TracingOptions } from './tracing/tracing-options.ts';
export { type AttestationVerdict, type PublicKeys, verifyAttestation } from './verification/verify-attestation.ts';
export {
  type DecisionKey,
  type DecisionTrust,
  type PublicTrust,
  type SharedTrust,
  type Verdict,
  verifyDecision,
} from './verification/verify-decision.ts';
export { type LedgerSource, type LedgerTrust, type LedgerVerdict, verifyLedger } from './verification/verify-ledger.ts';
export { VERSION } from './version.ts';
export type * from './wire/contract.ts';
