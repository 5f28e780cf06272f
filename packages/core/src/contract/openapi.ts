import { ERRORS, ErrorBody, type ErrorCode } from './errors.ts';
import { examples } from './examples.ts';
import { referTo } from './openapi-components.ts';
import { describeHeaders, errorHeaders } from './openapi-headers.ts';
import { OTLP_SCHEMAS, OTLP_TAG, otlpPaths } from './openapi-otlp.ts';
import { readEndpointPaths } from './openapi-read-endpoints.ts';
import { type OperationId, operations } from './operations.ts';
import { NONCE_PATTERN, PromotionCheck } from './promotion-check.ts';
import { TelemetryEvent } from './telemetry.ts';

/** Any JSON object of the document. */
type Node = Record<string, unknown>;

/** Endpoints that register agents by name. */
const REGISTERING_OPERATIONS: ReadonlySet<OperationId> = new Set([
  'ingestTrace',
  'ingestTelemetry',
  'recordEvaluation',
  'recordDetailedEvaluation',
]);

/** Errors of the endpoints; `canReturn` selects those of one endpoint. The description of a status lists its errors in this order. */
const ERROR_CODES: readonly ErrorCode[] = [
  'bad_request',
  'wrong_host',
  'unauthorized',
  'insufficient_scope',
  'method_not_allowed',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'invalid_json',
  'validation_failed',
  'idempotency_key_reused',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'log_rewritten',
  'seal_broken',
  'evidence_broken',
  'unavailable',
  'clock_unsafe',
];

/** Returns the OpenAPI 3.1 document of all endpoints. It is made from the schemas that validate requests. */
export function openApiDocument(): Node {
  const components = new Map<string, Node>();
  const paths: Node = {};
  for (const id of Object.keys(operations) as OperationId[]) paths[operations[id].path] = { post: operationNode(id, components) };
  referTo(ErrorBody, components);
  for (const [name, schema] of Object.entries(OTLP_SCHEMAS)) components.set(name, schema);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: '1.0.0',
      summary: 'The governance ledger for AI agents.',
      description:
        'Agent runtimes and CI pipelines send what agents did, how they were evaluated and what was decided about them. ' +
        'A deployment gate asks whether an agent may be promoted and gets a signed decision. ' +
        'No decision allows a promotion without a recent passing evaluation.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { serviceKey: [] }],
    tags: [...Object.values(TAGS), OTLP_TAG],
    paths: { ...paths, ...otlpPaths(), ...readEndpointPaths(errorResponses) },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An ingestion key, aa_live_<12 hex>.<secret>.' },
        serviceKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Service-Key',
          description: 'The same key, for clients that cannot set Authorization.',
        },
        readToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'A read token, aa_read_<12 hex>.<secret>: it can read, but not write.',
        },
      },
      schemas: Object.fromEntries([...components].sort(([left], [right]) => (left < right ? -1 : 1))),
    },
  };
}

/** The sections of the document. */
const TAGS = {
  public: { name: 'Public', description: 'The five endpoints under `/api/public/`. They never change.' },
  extensions: {
    name: 'Extensions',
    description:
      'Additional endpoints under `/api/v1/`, with the same keys, scopes, errors, limits, idempotency and request IDs.',
  },
} as const;

function operationNode(id: OperationId, components: Map<string, Node>): Node {
  const operation = operations[id];
  const bodies = operation.bodies.map((schema) => withExtraRules(schema, referTo(schema, components)));
  const requests = Object.entries(examples[id]).map(([name, { summary, request }]) => [name, { summary, value: request }]);
  const responses = Object.entries(examples[id]).map(([name, { summary, response }]) => [name, { summary, value: response }]);
  return {
    operationId: id,
    tags: [operation.path.startsWith('/api/public/') ? TAGS.public.name : TAGS.extensions.name],
    summary: operation.summary,
    description: `${operation.description}\n\nScope: \`${operation.scope}\`. Nesting: at most ${operation.depthMax} levels.`,
    ...parametersOf(operation),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: bodies.length === 1 ? bodies[0] : { anyOf: bodies },
          examples: Object.fromEntries(requests),
        },
      },
    },
    responses: {
      200: {
        description: 'Committed, with fsync.',
        headers: describeHeaders([
          'X-Request-Id',
          'RateLimit',
          'RateLimit-Policy',
          ...(id === 'appendAuditEntry' ? (['Countersign-Ledger-Seq'] as const) : []),
          ...(operation.replayable ? (['Idempotent-Replayed'] as const) : []),
          ...(REGISTERING_OPERATIONS.has(id) ? (['Countersign-Warning'] as const) : []),
          ...(id === 'checkPromotion' ? DECISION_HEADERS : []),
        ]),
        content: {
          'application/json': { schema: referTo(operation.response, components), examples: Object.fromEntries(responses) },
        },
      },
      ...errorResponses(ERROR_CODES.filter((code) => canReturn(id, code))),
    },
  };
}

function canReturn(id: OperationId, code: ErrorCode): boolean {
  if (code === 'idempotency_key_reused') return operations[id].replayable;
  // Replayable endpoints read stored responses, and the promotion check reads decision keys. The rows of both are sealed.
  if (code === 'seal_broken') return operations[id].replayable || id === 'checkPromotion';
  if (code === 'evidence_broken') return REGISTERING_OPERATIONS.has(id);
  return true;
}

/**
 * Schemas for some rules that `formOf` and `ruleViolations` check. Only the document contains these schemas. The validator uses the
 * two functions, because their messages are better for senders.
 */
const EXTRA_RULES = new Map<object, Node>([
  [TelemetryEvent, { properties: { events: { type: 'null', description: 'A body with events is a batch.' } } }],
  [PromotionCheck, { anyOf: [requiredText('agent_id'), requiredText('agent_name')] }],
]);

function requiredText(member: string): Node {
  return { required: [member], properties: { [member]: { type: 'string' } } };
}

function withExtraRules(schema: object, reference: Node): Node {
  const rules = EXTRA_RULES.get(schema);
  return rules === undefined ? reference : { allOf: [reference, rules] };
}

/** One response for each status. Its description lists the codes with their meanings. */
function errorResponses(codes: readonly ErrorCode[]): Node {
  const responses: Record<string, Node> = {};
  for (const code of codes) {
    const { status, when } = ERRORS[code];
    const line = `\`${code}\`: ${when}`;
    const earlierText = responses[status]?.description;
    responses[status] = {
      description: earlierText === undefined ? line : `${earlierText}\n\n${line}`,
      headers: describeHeaders(errorHeaders(status, codes.includes('rate_limited'))),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
  }
  return responses;
}

const idempotencyKey: Node = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes retries safe: for 24 hours after a request was accepted, the same key with the same body returns its response again. ' +
    'Choose a value that others cannot guess, such as a random UUID: a sender with another ingestion key of the workspace ' +
    'could use the same value first.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
};

const prefer: Node = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description:
    "`countersign-attestation` requests the decision's attestation, which anyone can verify with the instance's public key.",
  schema: { type: 'string' },
};

const nonce: Node = {
  name: 'Countersign-Nonce',
  in: 'header',
  required: false,
  description:
    'A new random value for each request. The signed decision repeats it as `nonce`, so an older decision cannot be replayed.',
  schema: { type: 'string', minLength: 16, maxLength: 64, pattern: NONCE_PATTERN },
};

const DECISION_HEADERS = [
  'Countersign-Checkpoint',
  'Countersign-Workspace',
  'Countersign-Attestation',
  'Preference-Applied',
] as const;

/** The request headers that an operation reads, besides authentication and content. */
function parametersOf({ id, replayable }: (typeof operations)[OperationId]): Node {
  if (replayable) return { parameters: [idempotencyKey] };
  return id === 'checkPromotion' ? { parameters: [prefer, nonce] } : {};
}
