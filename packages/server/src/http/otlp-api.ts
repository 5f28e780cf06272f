import { OTLP_MEDIA_TYPES, OTLP_OPERATIONS, type OtlpOperation } from '@countersign/core/contract/otlp-operations';
import type { Signal } from '@countersign/core/otlp/protobuf-bounds';
import type { FastifyInstance } from 'fastify';
import type { IngestReply } from '../ingest/ingest-request.ts';
import type { ExportRequest, PreparedExport } from '../otlp/export.ts';
import { exportResponse } from '../otlp/responses.ts';
import { isLight } from './body-bounds.ts';
import { rejectOtherMethods } from './other-methods.ts';
import { exportMediaType, replyExport, replyExportError } from './otlp-reply.ts';
import { prepareExport } from './prepare-body.ts';
import type { PublicApi } from './public-api.ts';
import { readBody } from './read-body.ts';

/**
 * Registers the OpenTelemetry endpoints. Keys and limits are the same as for POST /api/public/traces. Errors have the form of OTLP,
 * including the error of the host check.
 */
export function registerOtlpApi(app: FastifyInstance, api: PublicApi): void {
  for (const [signal, { path }] of Object.entries(OTLP_OPERATIONS) as [Signal, OtlpOperation][]) {
    const config = { endpoint: `otlp_${signal}` };
    app.post(path, { config, errorHandler: replyExportError }, async (request, reply) => {
      const principal = await api.authenticator.authenticate(request.headers, 'telemetry');
      const authenticatedAt = performance.now();
      void reply.headers(api.rateLimit?.take(principal.keyId, performance.now()) ?? {});
      api.space?.requireSpace();
      const { document, release } = await readBody(request.raw, {
        bytesMax: api.bytesMax.report,
        admission: api.reading,
        tenantId: principal.tenantId,
        mediaTypes: OTLP_MEDIA_TYPES,
      });
      try {
        await api.authenticator.authenticateAgain(request.headers, 'telemetry', authenticatedAt);
        const exportRequest = { principal, signal, mediaType: exportMediaType(request)!, document };
        return replyExport(reply, exportRequest, await submit(api, exportRequest));
      } finally {
        release();
      }
    });
    rejectOtherMethods(app, [path], ['POST']);
  }
}

/** Stores exported traces and logs, not metrics. A body that is not light is prepared on the worker thread, to delay no other request. */
async function submit({ writers, bodyPreparer }: PublicApi, request: ExportRequest): Promise<IngestReply> {
  if (isLight(request.document)) return queue(writers, request, prepareExport(request));
  const { prepared, document } = await bodyPreparer.prepareExport(request);
  return queue(writers, { ...request, document }, prepared);
}

async function queue(
  { exports }: PublicApi['writers'],
  { principal, document }: ExportRequest,
  prepared: PreparedExport,
): Promise<IngestReply> {
  const { body, traces, ...facts } = prepared;
  if (traces.length === 0 && prepared.logs.length === 0)
    return { json: exportResponse(prepared.signal, prepared.partialSuccess), headers: {} };
  return exports.submit(principal.tenantId, {
    ...facts,
    body: body === undefined ? document : Buffer.from(body),
    traces: traces.map((trace) => ({
      ...trace,
      bytes: trace.document.length,
      batchKeys: [],
      idempotency: undefined,
      document: Buffer.from(trace.document.buffer, trace.document.byteOffset, trace.document.length),
    })),
  });
}
