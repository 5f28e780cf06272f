import { ERRORS, type ErrorCode } from './errors.ts';
import { describeHeaders } from './openapi-headers.ts';
import { READ_ENDPOINTS, type ReadEndpoint } from './read-endpoints.ts';

/** Any JSON object of the document. */
type Node = Record<string, unknown>;

/** Errors of the read endpoints. The description of a status lists its errors in this order. */
const ERROR_CODES: readonly ErrorCode[] = [
  'bad_request',
  'wrong_host',
  'unauthorized',
  'insufficient_scope',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'validation_failed',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'log_rewritten',
  'seal_broken',
  'unavailable',
  'clock_unsafe',
];

/** Returns the read endpoints as paths of the OpenAPI document. @param errorResponses makes the responses of error codes. */
export function readEndpointPaths(errorResponses: (codes: readonly ErrorCode[]) => Node): Node {
  return Object.fromEntries(
    Object.entries<ReadEndpoint>(READ_ENDPOINTS).map(([path, endpoint]) => [
      path.replace(/:(\w+)/g, '{$1}'),
      { get: readEndpointNode(path, endpoint, errorResponses) },
    ]),
  );
}

function readEndpointNode(path: string, endpoint: ReadEndpoint, errorResponses: (codes: readonly ErrorCode[]) => Node): Node {
  const { summary, description, requiresToken, signs = false, parameters, type } = endpoint;
  const codes = ERROR_CODES.filter(
    (code) =>
      (signs || code !== 'clock_unsafe') &&
      (!requiresToken || code !== 'seal_broken') &&
      (requiresToken || !(code === 'log_rewritten' || [401, 404, 422, 429].includes(ERRORS[code].status))),
  );
  return {
    operationId: operationId(path),
    summary,
    description,
    security: requiresToken ? [{ readToken: [] }] : [],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      200: {
        description: `${summary}.`,
        headers: describeHeaders(requiresToken ? ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'] : ['X-Request-Id']),
        content: { [type]: { schema: { type: type === 'application/json' ? 'object' : 'string' } } },
      },
      ...errorResponses(codes),
    },
  };
}

/** `/api/ledger/decisions/:id/attestation` becomes `readDecisionsIdAttestation`. */
const operationId = (path: string): string =>
  'read' +
  path
    .replace(/^\/api\/ledger\/|^\/\.well-known\//, '')
    .replace(/\.json$/, '')
    .replace(/(?:^|\W+)(\w)/g, (_, letter: string) => letter.toUpperCase());
