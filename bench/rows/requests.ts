import { operations } from '@countersign/core/contract/operations';
import { auditBody, checkBodies, EVENTS, telemetryBody, traceBody } from '../bodies.ts';
import { LIMIT_PATHS } from '../limit-paths.ts';
import { fire, type Shot, shot } from '../load.ts';
import { otlpBody } from '../otlp-body.ts';
import type { Measure } from '../rounds.ts';
import type { World } from '../world.ts';

/** The requests of the table, for one test environment. */
export const shotsOf = ({ key }: World) => ({
  traces: [shot(operations.ingestTrace.path, key, traceBody())],
  otlp: [shot('/v1/traces', key, otlpBody(), 'application/x-protobuf')],
  tracesReadOnly: [shot(LIMIT_PATHS.traceReadOnly, key, traceBody())],
  telemetry: [shot(operations.ingestTelemetry.path, key, telemetryBody())],
  audit: [shot(operations.appendAuditEntry.path, key, auditBody())],
  auditSingly: [shot(LIMIT_PATHS.auditSingly, key, auditBody())],
  promotion: checkBodies().map((body) => shot(operations.checkPromotion.path, key, body)),
  bare: [shot(LIMIT_PATHS.bare, key, auditBody())],
  bareChecks: checkBodies().map((body) => shot(LIMIT_PATHS.bareCheck, key, body)),
  tiny: [shot(LIMIT_PATHS.tiny, key, '{"ok":true}')],
});

export const CONNECTIONS = 64;

/** Requests a second from 64 connections. */
export const requests =
  (world: World, shots: readonly Shot[], connections = CONNECTIONS): Measure =>
  async (seconds) =>
    (await fire({ port: world.port, connections, seconds, shots })).perSecond;

/** The measured kinds of work, each in its own unit. */
export const works = (world: World): Record<'traces' | 'otlp' | 'telemetry' | 'audit' | 'promotion', Measure> => {
  const { traces, otlp, telemetry, audit, promotion } = shotsOf(world);
  return {
    traces: requests(world, traces),
    otlp: requests(world, otlp),
    telemetry: async (seconds) => EVENTS * (await requests(world, telemetry)(seconds)),
    audit: requests(world, audit),
    promotion: requests(world, promotion),
  };
};
