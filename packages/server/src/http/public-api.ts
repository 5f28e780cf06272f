import type { OperationId } from '@countersign/core/contract/operations';
import { operations } from '@countersign/core/contract/operations';
import { NONCE_PATTERN } from '@countersign/core/contract/promotion-check';
import { ATTESTATION_PREFERENCE } from '@countersign/core/domain/attestation';
import { isIdempotencyKey } from '@countersign/core/domain/idempotency-key';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '../database/admission.ts';
import type { FreeSpace } from '../database/free-space.ts';
import { validationFailed } from '../errors/api-error.ts';
import { endpoints } from '../ingest/endpoints.ts';
import type { IngestReply, IngestRequest } from '../ingest/ingest-request.ts';
import type { RecordWriters } from '../ingest/record-writers.ts';
import type { Authenticator } from './authenticate.ts';
import { isLight } from './body-bounds.ts';
import type { BodyPreparer } from './body-preparer.ts';
import { rejectOtherMethods } from './other-methods.ts';
import { isPreferred } from './preferences.ts';
import { prepareBody } from './prepare-body.ts';
import type { RateLimit } from './rate-limit.ts';
import { readBody } from './read-body.ts';

/** The parts that the endpoints of the public API use. */
export interface PublicApi {
  writers: RecordWriters;
  authenticator: Authenticator;
  rateLimit: RateLimit | undefined;
  /** Rejects new records while the disk of the database is nearly full; undefined for an external database. */
  space: FreeSpace | undefined;
  /** Limits the bodies in memory. */
  reading: Admission;
  bytesMax: { report: number; record: number };
  /** Prepares bodies that are not light. */
  bodyPreparer: BodyPreparer;
}

/**
 * Registers the POST endpoints of the public API: the five of /api/public/, and /api/v1/evaluations. The order of checks (docs/errors.md):
 * host (bare-app.ts); route and method (the router); key and scope; rate limit; free disk space; media type and size; memory for the body;
 * key and scope again if the body arrived late; headers of the endpoint; body; space in the queue of the endpoint. No byte of the body is
 * read before the key is checked.
 */
export function registerPublicApi(app: FastifyInstance, api: PublicApi): void {
  for (const id of Object.keys(operations) as OperationId[]) {
    const operation = operations[id];
    const submit = (ingestRequest: IngestRequest) =>
      isLight(ingestRequest.document)
        ? endpoints[id].submit(api.writers, ingestRequest, prepareBody(id, ingestRequest))
        : submitByWorker(id, api, ingestRequest);
    app.post(operation.path, { config: { endpoint: id } }, async (request, reply) => {
      const principal = await api.authenticator.authenticate(request.headers, operation.scope);
      const authenticatedAt = performance.now();
      const headers = api.rateLimit?.take(principal.keyId, performance.now()) ?? {};
      void reply.headers(headers);
      if (!operation.usesReserve) api.space?.requireSpace();
      const { document, release } = await readBody(request.raw, {
        bytesMax: api.bytesMax[operation.kind],
        admission: api.reading,
        tenantId: principal.tenantId,
      });
      try {
        await api.authenticator.authenticateAgain(request.headers, operation.scope, authenticatedAt);
        const idempotencyKey = operation.replayable ? idempotencyKeyOf(request) : undefined;
        const nonce = id === 'checkPromotion' ? nonceOf(request) : undefined;
        const ingestRequest = { principal, document, idempotencyKey, prefersAttestation: prefersAttestation(request), nonce };
        return await respond(reply, submit(ingestRequest));
      } finally {
        release();
      }
    });
    rejectOtherMethods(app, [operation.path], ['POST']);
  }
}

/** A body that is not light is parsed, validated and prepared on the worker thread, so that it delays no other request. */
async function submitByWorker(
  id: OperationId,
  { writers, bodyPreparer }: PublicApi,
  ingestRequest: IngestRequest,
): Promise<IngestReply> {
  const { prepared, document } = await bodyPreparer.prepare(id, ingestRequest);
  return endpoints[id].submit(writers, { ...ingestRequest, document }, prepared);
}

async function respond(reply: FastifyReply, pending: Promise<IngestReply>): Promise<FastifyReply> {
  const { json, headers } = await pending;
  return reply.headers(headers).header('content-type', 'application/json; charset=utf-8').send(json);
}

/** The Idempotency-Key of a request; undefined if absent. Throws 422 unless it is 1 to 255 printable ASCII characters, given once. */
function idempotencyKeyOf({ raw }: FastifyRequest): string | undefined {
  if (raw.headers['idempotency-key'] === undefined) return undefined;
  const [key = '', ...more] = raw.headersDistinct['idempotency-key'] ?? []; // `headers` joins repeated headers.
  if (more.length === 0 && isIdempotencyKey(key)) return key;
  throw validationFailed({
    path: '',
    code: 'bad_header',
    message: 'Idempotency-Key must be 1 to 255 printable ASCII characters, and be given once',
  });
}

const NONCE = new RegExp(NONCE_PATTERN);

/**
 * The Countersign-Nonce of a request; undefined if absent. Throws 422 if it is malformed or given twice, because the sender expects it in
 * the decision.
 */
function nonceOf({ raw }: FastifyRequest): string | undefined {
  if (raw.headers['countersign-nonce'] === undefined) return undefined;
  const [nonce = '', ...more] = raw.headersDistinct['countersign-nonce'] ?? [];
  if (more.length === 0 && NONCE.test(nonce)) return nonce;
  throw validationFailed({
    path: '',
    code: 'bad_header',
    message:
      'Countersign-Nonce must be 16 to 64 characters of base64url (A-Z a-z 0-9 - _), and be given once; send a new random one for each request',
  });
}

/** Whether the request prefers a response with an attestation of the decision. */
const prefersAttestation = ({ headers }: FastifyRequest): boolean =>
  isPreferred(ATTESTATION_PREFERENCE, headers.prefer as string | undefined);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Name of the endpoint in metrics and the log. */
    endpoint?: string;
  }
}
