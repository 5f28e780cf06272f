import { readFileSync } from 'node:fs';
import type * as audit from '@countersign/core/contract/audit-entry';
import type * as counts from '@countersign/core/contract/case-counts';
import type * as detailed from '@countersign/core/contract/detailed-evaluation';
import { ERRORS, type ErrorBody } from '@countersign/core/contract/errors';
import type * as evaluation from '@countersign/core/contract/evaluation';
import type { Issue } from '@countersign/core/contract/issue';
import type * as message from '@countersign/core/contract/message';
import { operations } from '@countersign/core/contract/operations';
import type * as promotion from '@countersign/core/contract/promotion-check';
import type * as telemetry from '@countersign/core/contract/telemetry';
import type * as trace from '@countersign/core/contract/trace';
import { expect, expectTypeOf, test } from 'vitest';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { apiError } from '../../src/http/errors.ts';
import { isRetryable } from '../../src/http/retry-pace.ts';
import type * as wire from '../../src/index.ts';

/** Removes undefined from all members at every depth, because optional members of the client's types may also be undefined. */
type Sendable<T> = T extends object ? { [Name in keyof T]: Sendable<Exclude<T[Name], undefined>> } : T;

test('the types of the client for requests match the contract', () => {
  expectTypeOf<Sendable<Required<wire.Message>>>().toExtend<Required<message.Message>>();
  expectTypeOf<Sendable<Required<wire.Span>>>().toExtend<Required<trace.Span>>();
  expectTypeOf<Sendable<Required<wire.Trace>>>().toExtend<Required<trace.Trace>>();
  expectTypeOf<Sendable<Required<wire.TelemetryEvent>>>().toExtend<Required<telemetry.TelemetryEvent>>();
  expectTypeOf<Sendable<Required<wire.Evaluation>>>().toExtend<Required<evaluation.Evaluation>>();
  expectTypeOf<Sendable<Required<wire.CaseCounts>>>().toExtend<Required<counts.CaseCounts>>();
  expectTypeOf<Sendable<Required<wire.EvaluationSuite>>>().toExtend<Required<detailed.EvaluationSuite>>();
  expectTypeOf<Sendable<Required<wire.DetailedEvaluation>>>().toExtend<Required<detailed.DetailedEvaluation>>();
  expectTypeOf<Sendable<Required<wire.AuditEntry>>>().toExtend<Required<audit.AuditEntry>>();
  expectTypeOf<Sendable<wire.PromotionCheck>>().toExtend<promotion.PromotionCheck>();
  expectTypeOf<message.Message>().toExtend<wire.Message>();
  expectTypeOf<trace.Span>().toExtend<wire.Span>();
  expectTypeOf<trace.Trace>().toExtend<wire.Trace>();
  expectTypeOf<telemetry.TelemetryEvent>().toExtend<wire.TelemetryEvent>();
  expectTypeOf<evaluation.Evaluation>().toExtend<wire.Evaluation>();
  expectTypeOf<counts.CaseCounts>().toExtend<wire.CaseCounts>();
  expectTypeOf<detailed.EvaluationSuite>().toExtend<wire.EvaluationSuite>();
  expectTypeOf<detailed.DetailedEvaluation>().toExtend<wire.DetailedEvaluation>();
  expectTypeOf<audit.AuditEntry>().toExtend<wire.AuditEntry>();
  expectTypeOf<promotion.PromotionCheck & { agent_id: string }>().toExtend<wire.PromotionCheck>();
  expectTypeOf<promotion.PromotionCheck & { agent_name: string }>().toExtend<wire.PromotionCheck>();
  expectTypeOf<Record<string, never>>().not.toExtend<wire.PromotionCheck>();
  expectTypeOf<{ min_pass_rate: number }>().not.toExtend<wire.PromotionCheck>();
});

test('the types of the client for requests have exactly the members of the contract', () => {
  expectTypeOf<keyof wire.Message>().toEqualTypeOf<keyof message.Message>();
  expectTypeOf<keyof wire.Span>().toEqualTypeOf<keyof trace.Span>();
  expectTypeOf<keyof wire.Trace>().toEqualTypeOf<keyof trace.Trace>();
  expectTypeOf<keyof wire.TelemetryEvent>().toEqualTypeOf<keyof telemetry.TelemetryEvent>();
  expectTypeOf<keyof wire.Evaluation>().toEqualTypeOf<keyof evaluation.Evaluation>();
  expectTypeOf<keyof wire.CaseCounts>().toEqualTypeOf<keyof counts.CaseCounts>();
  expectTypeOf<keyof wire.EvaluationSuite>().toEqualTypeOf<keyof detailed.EvaluationSuite>();
  expectTypeOf<keyof wire.DetailedEvaluation>().toEqualTypeOf<keyof detailed.DetailedEvaluation>();
  expectTypeOf<keyof wire.AuditEntry>().toEqualTypeOf<keyof audit.AuditEntry>();
  expectTypeOf<keyof wire.PromotionCheck>().toEqualTypeOf<keyof promotion.PromotionCheck>();
});

test('the types of the client for responses match the contract', () => {
  expectTypeOf<wire.TraceAccepted>().toEqualTypeOf<trace.TraceAccepted>();
  expectTypeOf<wire.TelemetryAccepted>().toEqualTypeOf<telemetry.TelemetryAccepted>();
  expectTypeOf<wire.EvaluationAccepted>().toEqualTypeOf<evaluation.EvaluationAccepted>();
  expectTypeOf<wire.DetailedEvaluationAccepted>().toEqualTypeOf<detailed.DetailedEvaluationAccepted>();
  expectTypeOf<wire.AuditEntryAppended>().toEqualTypeOf<audit.AuditEntryAppended>();
  expectTypeOf<wire.ConditionCheck>().toEqualTypeOf<promotion.ConditionCheck>();
  expectTypeOf<wire.DecidedEvaluation>().toEqualTypeOf<promotion.DecidedEvaluation>();
  expectTypeOf<wire.NoEvaluation>().toEqualTypeOf<promotion.NoEvaluation>();
  expectTypeOf<wire.PromotionDecision>().toEqualTypeOf<promotion.PromotionDecision>();
  expectTypeOf<wire.PromotionDecision['evaluation']['name']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<wire.PromotionDecision['evaluation']['evaluated_at']>().toEqualTypeOf<string | undefined>();
  // A server of a later version can send codes that are not in the types of this client.
  expectTypeOf<Issue>().toExtend<wire.Issue>();
  expectTypeOf<keyof wire.Issue>().toEqualTypeOf<keyof Issue>();
  expectTypeOf<ErrorBody>().toExtend<wire.ErrorBody>();
  expectTypeOf<keyof wire.ErrorBody>().toEqualTypeOf<keyof ErrorBody>();
});

test('the tests above mention every type that contract.ts of the client exports', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const exported = [...read('../../src/wire/contract.ts').matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name);
  const covered = new Set([...read('contract.test.ts').matchAll(/\bwire\.(\w+)/g)].map(([, name]) => name));
  expect(exported.length).toBeGreaterThan(0);
  expect(exported.filter((name) => !covered.has(name))).toEqual([]);
});

test('the paths of the client match the operations', () => {
  expect(
    Object.values(ENDPOINTS)
      .map(({ path }) => path)
      .sort(),
  ).toEqual(
    Object.values(operations)
      .map(({ path }) => path)
      .sort(),
  );
});

test('the client retries only these errors of the error table: rate_limited, request_timeout and all with status 503', () => {
  const retried = Object.values(ERRORS).filter(({ status }) =>
    isRetryable(apiError({ status, code: undefined, requestId: undefined, issues: [], retryAfterMs: undefined })),
  );
  const expected = [ERRORS.rate_limited, ERRORS.request_timeout, ERRORS.clock_unsafe, ERRORS.evidence_broken, ERRORS.unavailable];
  expect(new Set(retried)).toEqual(new Set(expected));
});
