import { READ_ENDPOINTS, type ReadEndpointPath } from '@countersign/core/contract/read-endpoints';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import type { Principal } from '../ingest/ingest-request.ts';
import type { LedgerReader } from '../ledger/ledger-reader.ts';
import type { Authenticator } from './authenticate.ts';
import { rejectOtherMethods } from './other-methods.ts';
import type { Outgoing, OutgoingResponse } from './outgoing.ts';
import type { RateLimit } from './rate-limit.ts';
import { sharedResult } from './shared-result.ts';

/** The parts of the read API. */
export interface LedgerApi {
  reader: LedgerReader;
  outgoing: Outgoing;
  authenticator: Authenticator;
  rateLimit: RateLimit | undefined;
}

/** A separate route for each log. With one route `/api/ledger/:log/entries`, `decisions/:id` would match `decisions/entries` first. */
const LOGS = ['audit', 'decisions', 'evidence', 'keys', 'traces'] as const;

const NDJSON = 'application/x-ndjson; charset=utf-8';
const NOTE = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * For responses to requests with a read token. Caches may store a response to a request with `X-Service-Key` unless a header forbids it
 * (RFC 9111, section 3), and the same URL returns different records for each workspace.
 */
const PRIVATE_HEADERS = { 'cache-control': 'no-store' };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

type ReadHandler = (
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
  response: OutgoingResponse,
) => Promise<FastifyReply>;

/**
 * Registers GET /api/ledger/…, by which auditors and automation read the logs with read tokens (`aa_read_`). Also registers the public keys
 * at /.well-known/jwks.json. Only admins may read the entries of the key audit trail, in the portal. For this log, the API serves only
 * checkpoints and proofs.
 */
export function registerLedgerApi(app: FastifyInstance, { reader, outgoing, authenticator, rateLimit }: LedgerApi): void {
  const unregistered = new Set<string>(Object.keys(READ_ENDPOINTS));
  const get = (url: ReadEndpointPath, handler: ReadHandler) => {
    unregistered.delete(url);
    app.get(url, { config: { endpoint: url.replace('/api/ledger', 'ledger') } }, async (request, reply) => {
      void reply.headers(PRIVATE_HEADERS);
      const principal = await authenticator.authenticate(request.headers, 'read');
      void reply.headers(rateLimit?.take(principal.keyId, performance.now()) ?? {});
      rejectUnknownQuery(request, url);
      const response = outgoing.begin(reply, principal.tenantId);
      return response.run(() => handler(principal, request, reply, response));
    });
    rejectOtherMethods(app, [url], ['GET']);
  };

  for (const log of LOGS) {
    if (log !== 'keys') {
      get(`/api/ledger/${log}/entries`, async ({ tenantId }, request, reply, response) => {
        const range = { from: wholeQuery(request, 'from', 1) ?? 1, to: wholeQuery(request, 'to', 1) };
        if (range.to !== undefined && range.from > range.to)
          throw badQuery('from', `(${range.from}) must not be greater than the query parameter to (${range.to})`);
        const lines = await reader.entries(tenantId, log, range, response);
        void reply.header('content-type', NDJSON);
        return response.stream(lines);
      });
    }
    get(`/api/ledger/${log}/checkpoint`, async ({ tenantId }, _request, reply) =>
      reply.header('content-type', NOTE).send((await reader.checkpoint(tenantId, log)).note),
    );
    get(`/api/ledger/${log}/inclusion/:seq`, async ({ tenantId }, request, reply) =>
      reply.header('content-type', NOTE).send(requireFound(await reader.inclusionProof(tenantId, log, seqOf(request)))),
    );
    get(`/api/ledger/${log}/consistency`, async ({ tenantId }, request, reply) => {
      const first = wholeQuery(request, 'first', 0);
      if (first === undefined)
        throw badQuery(
          'first',
          'is required: send an earlier size of the log, for example the size in a checkpoint that you kept',
        );
      const proof = await reader.consistencyProof(tenantId, log, first, wholeQuery(request, 'second', 0));
      if (proof === undefined)
        throw badQuery(
          'first',
          'must not be greater than second, and second must not be greater than the number of rows of the log',
        );
      return reply.header('content-type', JSON_TYPE).send(JSON.stringify(proof));
    });
  }
  get('/api/ledger/decisions/:id', async ({ tenantId }, request, reply, response) => {
    const decision = requireFound(await reader.decision(tenantId, idOf(request)));
    void reply.header('content-type', JSON_TYPE);
    return response.send(decision);
  });
  get('/api/ledger/decisions/:id/evidence', async ({ tenantId }, request, reply, response) => {
    const evidence = requireFound(await reader.evidence(tenantId, idOf(request)));
    void reply.header('content-type', JSON_TYPE);
    return response.send(evidence);
  });
  get('/api/ledger/decisions/:id/attestation', async ({ tenantId }, request, reply, response) => {
    const attestation = requireFound(await reader.attestation(tenantId, idOf(request)));
    void reply.header('content-type', JSON_TYPE);
    return response.send(JSON.stringify(attestation));
  });
  const keysPath: ReadEndpointPath = '/.well-known/jwks.json';
  unregistered.delete(keysPath);
  // The endpoint is public, so concurrent requests share one query of the database.
  const publicKeys = sharedResult(0, async () => JSON.stringify(await reader.publicKeys()));
  app.get(keysPath, { exposeHeadRoute: true }, async (_request, reply) =>
    reply
      .header('content-type', JSON_TYPE)
      .header('cache-control', 'max-age=300')
      .send(await publicKeys()),
  );
  rejectOtherMethods(app, [keysPath], ['GET', 'HEAD']);
  if (unregistered.size > 0) throw new Error(`documented but not registered: ${[...unregistered].join(', ')}`);
}

function idOf({ params }: FastifyRequest): string {
  const { id } = params as { id: string };
  if (!UUID.test(id)) throw new ApiError('not_found');
  return id.toLowerCase();
}

/** Returns the value, or throws 404 if it is undefined. */
function requireFound<T>(value: T | undefined): T {
  if (value === undefined) throw new ApiError('not_found');
  return value;
}

function seqOf({ params }: FastifyRequest): number {
  const seq = wholeNumber((params as { seq: string }).seq, 1);
  if (seq === undefined) throw new ApiError('not_found');
  return seq;
}

/** Rejects unknown parameters. If a misspelled one were ignored, the response could contain another range than requested. */
function rejectUnknownQuery({ query }: FastifyRequest, url: ReadEndpointPath): void {
  const knownNames = READ_ENDPOINTS[url].parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  const unknownName = Object.keys(query as object).find((name) => !knownNames.includes(name));
  if (unknownName !== undefined)
    throw badQuery(unknownName, `is unknown; this endpoint accepts ${knownNames.join(' and ') || 'no query parameters'}`);
}

/** A whole number from the query string; undefined if absent. */
function wholeQuery({ query }: FastifyRequest, name: string, minimum: number): number | undefined {
  const text = (query as Record<string, unknown>)[name];
  if (text === undefined) return undefined;
  const number = typeof text === 'string' ? wholeNumber(text, minimum) : undefined;
  if (number === undefined)
    throw badQuery(name, `must be given once, as a whole number from ${minimum} to ${Number.MAX_SAFE_INTEGER}`);
  return number;
}

function wholeNumber(text: string, minimum: number): number | undefined {
  const number = Number(text);
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(number) && number >= minimum ? number : undefined;
}

const badQuery = (name: string, fault: string): ApiError =>
  validationFailed({ path: '', code: 'bad_query', message: `the query parameter ${name} ${fault}` });
