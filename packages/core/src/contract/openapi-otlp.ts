import { ERRORS, type ErrorCode } from './errors.ts';
import { describeHeaders, errorHeaders } from './openapi-headers.ts';
import { OTLP_MEDIA_TYPES, OTLP_OPERATIONS, OTLP_STATUS, type OtlpOperation } from './otlp-operations.ts';

/** Any JSON object of the document. */
type Node = Record<string, unknown>;

/** The section of the OpenAPI document for the endpoints of OpenTelemetry. */
export const OTLP_TAG = {
  name: 'OpenTelemetry',
  description:
    'OTLP/HTTP under `/v1/`, for exporters of OpenTelemetry. The keys and limits are the same as for `/api/public/traces`. ' +
    'Errors have the form of OTLP, except those with the status 405, 408 or 431.',
} as const;

/** Errors of the OpenTelemetry endpoints. The description of a status lists its errors in this order. */
const ERROR_CODES: readonly ErrorCode[] = [
  'bad_request',
  'wrong_host',
  'unauthorized',
  'insufficient_scope',
  'method_not_allowed',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'invalid_export',
  'invalid_json',
  'validation_failed',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'log_rewritten',
  'seal_broken',
  'evidence_broken',
  'unavailable',
  'clock_unsafe',
];

/** Errors that only the endpoints for traces and logs can return. The endpoint for metrics stores nothing. */
const STORAGE_ERRORS: ReadonlySet<ErrorCode> = new Set(['log_rewritten', 'seal_broken', 'evidence_broken', 'clock_unsafe']);

/** The schemas that the paths refer to. */
export const OTLP_SCHEMAS: Readonly<Record<string, Node>> = {
  OtlpStatus: {
    type: 'object',
    description: 'google.rpc.Status: why the export was rejected. No part of the export is stored.',
    required: ['code', 'message'],
    properties: {
      code: {
        type: 'integer',
        format: 'int32',
        description: 'A code of gRPC: 3 invalid argument, 8 resource exhausted, 13 internal, 14 unavailable, 16 unauthenticated.',
      },
      message: { type: 'string', description: 'What is wrong, where, and the remedy.' },
    },
  },
};

/** Returns the endpoints of OTLP/HTTP as paths of the OpenAPI document. */
export const otlpPaths = (): Node =>
  Object.fromEntries(
    Object.entries<OtlpOperation>(OTLP_OPERATIONS).map(([signal, operation]) => [
      operation.path,
      { post: operationNode(operation, signal !== 'metrics') },
    ]),
  );

function operationNode(
  { operationId, summary, description, request, response, rejectedMember }: OtlpOperation,
  stores: boolean,
): Node {
  return {
    operationId,
    tags: [OTLP_TAG.name],
    summary,
    description: `${description}\n\nScope: \`telemetry\`. Content-Encoding: gzip, deflate or none.`,
    requestBody: { required: true, content: contents(messageSchema(request)) },
    responses: {
      200: {
        description: stores ? 'Committed, with fsync.' : 'Accepted, but not stored.',
        headers: describeHeaders([
          'X-Request-Id',
          'RateLimit',
          'RateLimit-Policy',
          ...(stores ? (['Countersign-Warning'] as const) : []),
        ]),
        content: contents({
          ...messageSchema(response),
          properties: {
            partialSuccess: {
              type: 'object',
              description: 'What was not added to runs, or was stored with changes; absent if there is nothing to report.',
              properties: {
                [rejectedMember]: {
                  type: 'string',
                  description: 'How many records were not added to runs, as a decimal number.',
                },
                errorMessage: { type: 'string', description: 'One sentence for each reason.' },
              },
            },
          },
        }),
      },
      ...errorResponses(ERROR_CODES.filter((code) => stores || !STORAGE_ERRORS.has(code))),
    },
  };
}

/** The schema of an OTLP message in JSON. @param message its protobuf name, without `opentelemetry.proto.collector`. */
const messageSchema = (message: string): Node => ({
  type: 'object',
  description: `opentelemetry.proto.collector.${message} in the JSON mapping of OTLP.`,
});

/** The content in each media type. @param json the schema of the JSON form. */
const contents = (json: Node): Node =>
  Object.fromEntries(
    OTLP_MEDIA_TYPES.map((type) => [
      type,
      {
        schema:
          type === 'application/json' ? json : { type: 'string', format: 'binary', description: 'The same message in protobuf.' },
      },
    ]),
  );

/** Statuses of requests that do not reach an endpoint of OTLP. Their errors have the form that all other endpoints use. */
const STATUSES_BEFORE_ENDPOINT: ReadonlySet<number> = new Set([405, 408, 431]);

/** One response for each status. Its description says when each of its errors occurs. */
function errorResponses(codes: readonly ErrorCode[]): Node {
  const reasons = new Map<number, string[]>();
  for (const code of codes) {
    const status = OTLP_STATUS[ERRORS[code].status] ?? ERRORS[code].status;
    reasons.set(status, [...(reasons.get(status) ?? []), ERRORS[code].when]);
  }
  return Object.fromEntries(
    [...reasons].map(([status, when]) => [
      status,
      {
        description: when.join('\n\n'),
        headers: describeHeaders(errorHeaders(status, true)),
        content: STATUSES_BEFORE_ENDPOINT.has(status)
          ? { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
          : contents({ $ref: '#/components/schemas/OtlpStatus' }),
      },
    ]),
  );
}
