import type * as audit from '@countersign/core/contract/audit-entry';
import { ERRORS } from '@countersign/core/contract/errors';
import type * as evaluation from '@countersign/core/contract/evaluation';
import { operations } from '@countersign/core/contract/operations';
import type * as promotion from '@countersign/core/contract/promotion-check';
import type * as telemetry from '@countersign/core/contract/telemetry';
import type * as trace from '@countersign/core/contract/trace';
import { expect, expectTypeOf, test } from 'vitest';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { apiError } from '../../src/http/errors.ts';
import { isRetryable } from '../../src/http/retry-pace.ts';
import type * as wire from '../../src/index.ts';

/** Removes undefined from all members, because optional members of the client's types may also be undefined. */
type Sendable<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

test('the types of the client match the contract for requests and responses', () => {
  expectTypeOf<Sendable<Required<wire.Evaluation>>>().toExtend<Required<evaluation.Evaluation>>();
  expectTypeOf<Sendable<Required<wire.AuditEntry>>>().toExtend<Required<audit.AuditEntry>>();
  expectTypeOf<Sendable<wire.PromotionCheck>>().toExtend<promotion.PromotionCheck>();
  expectTypeOf<keyof wire.PromotionCheck>().toEqualTypeOf<keyof promotion.PromotionCheck>();
  expectTypeOf<evaluation.Evaluation>().toExtend<wire.Evaluation>();
  expectTypeOf<audit.AuditEntry>().toExtend<wire.AuditEntry>();
  expectTypeOf<promotion.PromotionCheck & { agent_id: string }>().toExtend<wire.PromotionCheck>();
  expectTypeOf<promotion.PromotionCheck & { agent_name: string }>().toExtend<wire.PromotionCheck>();
  expectTypeOf<Record<string, never>>().not.toExtend<wire.PromotionCheck>();
  expectTypeOf<{ min_pass_rate: number }>().not.toExtend<wire.PromotionCheck>();
  expectTypeOf<wire.PromotionDecision['evaluation']['name']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<wire.PromotionDecision['evaluation']['evaluated_at']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<telemetry.TelemetryEvent>().toExtend<wire.TelemetryEvent>();
  expectTypeOf<trace.Trace>().toExtend<wire.Trace>();
  expectTypeOf<keyof wire.TelemetryEvent>().toEqualTypeOf<keyof telemetry.TelemetryEvent>();
  expectTypeOf<keyof wire.Trace>().toEqualTypeOf<keyof trace.Trace>();
  expectTypeOf<keyof wire.Span>().toEqualTypeOf<keyof trace.Span>();
  expectTypeOf<promotion.PromotionDecision>().toEqualTypeOf<wire.PromotionDecision>();
  expectTypeOf<trace.TraceAccepted>().toEqualTypeOf<wire.TraceAccepted>();
  expectTypeOf<audit.AuditEntryAppended>().toEqualTypeOf<wire.AuditEntryAppended>();
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

test('of the error table, the client retries only rate_limited, request_timeout and the errors with status 503', () => {
  const retried = Object.values(ERRORS).filter(({ status }) =>
    isRetryable(apiError({ status, code: undefined, requestId: undefined, issues: [], retryAfterMs: undefined })),
  );
  const expected = [ERRORS.rate_limited, ERRORS.request_timeout, ERRORS.clock_unsafe, ERRORS.evidence_broken, ERRORS.unavailable];
  expect(new Set(retried)).toEqual(new Set(expected));
});
