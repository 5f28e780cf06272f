import { operations } from '@countersign/core/contract/operations';
import { auditBody, checkBodies, EVENTS_PER_BODY, telemetryBody, traceBody } from '../bodies.ts';
import type { BenchEnvironment } from '../environment.ts';
import { LIMIT_PATHS } from '../limit-paths.ts';
import { type LoadRequest, postRequest, runLoad } from '../load.ts';
import { otlpBody } from '../otlp-body.ts';
import type { Measure } from '../rounds.ts';

/** The requests of each kind of load, with the key of a test environment. limit-paths.ts explains the paths of LIMIT_PATHS. */
export const loadRequestsOf = ({ key }: Pick<BenchEnvironment, 'key'>) => ({
  traces: [postRequest(operations.ingestTrace.path, key, traceBody())],
  otlp: [postRequest('/v1/traces', key, otlpBody(), 'application/x-protobuf')],
  tracesReadOnly: [postRequest(LIMIT_PATHS.traceReadOnly, key, traceBody())],
  telemetry: [postRequest(operations.ingestTelemetry.path, key, telemetryBody())],
  audit: [postRequest(operations.appendAuditEntry.path, key, auditBody())],
  auditSingly: [postRequest(LIMIT_PATHS.auditSingly, key, auditBody())],
  promotion: checkBodies().map((body) => postRequest(operations.checkPromotion.path, key, body)),
  bare: [postRequest(LIMIT_PATHS.bare, key, auditBody())],
  bareChecks: checkBodies().map((body) => postRequest(LIMIT_PATHS.bareCheck, key, body)),
  tiny: [postRequest(LIMIT_PATHS.tiny, key, '{"ok":true}')],
});

/** The number of connections of a load that measures a rate. */
export const CONNECTIONS = 64;

/** Returns a measurement of requests per second over 64 connections. The connections are divided among the ports. */
export const requestRate = (
  { port, ports = [port] }: Pick<BenchEnvironment, 'port'> & { ports?: readonly number[] },
  loadRequests: readonly LoadRequest[],
): Measure => {
  const load = { connections: Math.ceil(CONNECTIONS / ports.length), loadRequests };
  return async (seconds) => {
    const results = await Promise.all(ports.map((each) => runLoad({ ...load, port: each, seconds })));
    return results.reduce((sum, { perSecond }) => sum + perSecond, 0);
  };
};

/** The measurement of each kind of work: telemetry in events per second, the others in requests per second. */
export const measuresOf = (
  environment: BenchEnvironment & { ports?: readonly number[] },
): Record<'traces' | 'otlp' | 'telemetry' | 'audit' | 'promotion', Measure> => {
  const { traces, otlp, telemetry, audit, promotion } = loadRequestsOf(environment);
  return {
    traces: requestRate(environment, traces),
    otlp: requestRate(environment, otlp),
    telemetry: async (seconds) => EVENTS_PER_BODY * (await requestRate(environment, telemetry)(seconds)),
    audit: requestRate(environment, audit),
    promotion: requestRate(environment, promotion),
  };
};
