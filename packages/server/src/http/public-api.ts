import type { OperationId } from '@countersign/core/contract/operations';
import { operations } from '@countersign/core/contract/operations';
import { ATTESTATION_PREFERENCE } from '@countersign/core/domain/attestation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../api-error.ts';
import type { Admission } from '../database/admission.ts';
import type { FreeSpace } from '../database/free-space.ts';
import { appendAuditEntry } from '../ingest/audit.ts';
import { recordDetailedEvaluation } from '../ingest/detailed-evaluations.ts';
import type { Asked, Endpoint } from '../ingest/endpoint.ts';
import { recordEvaluation } from '../ingest/evaluations.ts';
import type { House } from '../ingest/house.ts';
import { checkPromotion } from '../ingest/promotion-check.ts';
import { ingestTelemetry } from '../ingest/telemetry.ts';
import { ingestTrace } from '../ingest/traces.ts';
import type { Authenticator } from './authenticate.ts';
import { refuseOtherMethods } from './other-methods.ts';
import { isPreferred } from './preferences.ts';
import type { RateLimit } from './rate-limit.ts';
import { readBody } from './read-body.ts';
import { bodyReader } from './validate-body.ts';

/** What the endpoints stand on. */
export interface PublicApi {
  house: House;
  authenticator: Authenticator;
  rateLimit: RateLimit | undefined;
  /** Refuses what makes the database grow while its disk is nearly full; undefined for an outside database. */
  space: FreeSpace | undefined;
  /** Bounds the bodies that are in memory. */
  reading: Admission;
  bytesMax: { report: number; record: number };
}

// biome-ignore lint/suspicious/noExplicitAny: each endpoint takes the body of its own operation; the table ties the two by name.
const endpoints: Record<OperationId, Endpoint<any>> = {
  ingestTrace,
  ingestTelemetry,
  recordEvaluation,
  appendAuditEntry,
  checkPromotion,
  recordDetailedEvaluation,
};

/**
 * The five endpoints and their extensions. The order of checks is that of decisions.md: route and method (the router), key and scope before a byte of the
 * body is read, rate, media type and size, body, back-pressure (the queue that the endpoint submits to).
 */
export function registerPublicApi(app: FastifyInstance, api: PublicApi): void {
  for (const id of Object.keys(operations) as OperationId[]) {
    const operation = operations[id];
    const read = bodyReader<unknown>(operation as never);
    const endpoint = endpoints[id];
    // A call of its own, so that nothing holds the parsed body while the commit is waited for: it would survive collections, at their cost.
    const ask = (asked: Asked) => endpoint(api.house, asked, read(asked.document));
    app.post(operation.path, { config: { endpoint: id } }, async (request, reply) => {
      const principal = await api.authenticator.authenticate(request.headers, operation.scope);
      const headers = api.rateLimit?.take(principal.keyId, performance.now()) ?? {};
      void reply.headers(headers);
      if (!operation.usesReserve) api.space?.requireSpace();
      const { document, leave } = await readBody(request.raw, {
        bytesMax: api.bytesMax[operation.kind],
        admission: api.reading,
        tenantId: principal.tenantId,
      });
      try {
        const idempotencyKey = operation.replayable ? idempotencyKeyOf(request) : undefined;
        return await answer(reply, ask({ principal, document, idempotencyKey, prefersAttestation: prefersAttestation(request) }));
      } finally {
        leave();
      }
    });
    refuseOtherMethods(app, [operation.path], ['POST']);
  }
}

async function answer(reply: FastifyReply, answering: ReturnType<Endpoint<unknown>>): Promise<FastifyReply> {
  const { json, headers } = await answering;
  return reply.headers(headers).header('content-type', 'application/json; charset=utf-8').send(json);
}

/** 1 to 255 printable ASCII characters, given once; anything else is refused rather than ignored. */
function idempotencyKeyOf({ raw }: FastifyRequest): string | undefined {
  if (raw.headers['idempotency-key'] === undefined) return undefined;
  const [key = '', ...more] = raw.headersDistinct['idempotency-key'] ?? []; // `headers` joins two of them to one
  if (more.length === 0 && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw validationFailed({
    path: '',
    code: 'bad_header',
    message: 'Idempotency-Key must be 1 to 255 printable ASCII characters, and be given once',
  });
}

/** Whether the decision's attestation is to come with it. */
const prefersAttestation = ({ headers }: FastifyRequest): boolean =>
  isPreferred(ATTESTATION_PREFERENCE, headers.prefer as string | undefined);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Name of the endpoint in metrics. */
    endpoint?: string;
  }
}
