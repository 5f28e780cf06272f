import { Ajv2020 } from 'ajv/dist/2020.js';

/** The server to check, and keys for it. */
export interface ContractTarget {
  /** The URL of the server, without a slash at the end. */
  url: string;
  /** A key with every scope. */
  key: string;
  /** Returns a key that lacks this scope, in the same workspace. */
  keyWithout: (scope: string) => string;
}

/** The result of a check. */
export interface ContractCheck {
  name: string;
  /** What was wrong; undefined if the check passed. */
  fault: string | undefined;
}

type Json = Record<string, unknown>;

/** An endpoint, as the OpenAPI document describes it. */
interface Endpoint {
  path: string;
  scope: string;
  isReplayable: boolean;
  examples: Json[];
  request: Json;
  response: Json;
}

interface Reply {
  status: number;
  headers: Headers;
  body: Json;
}

/**
 * Checks the POST endpoints below /api/public/ and /api/v1/ against the OpenAPI document that the server itself serves. It uses only HTTP,
 * so it can also check servers in containers (scripts/container-checks.ts).
 */
export async function checkContract(target: ContractTarget): Promise<ContractCheck[]> {
  const document = (await (await fetch(`${target.url}/openapi.json`)).json()) as Json;
  const checks: ContractCheck[] = [];
  for (const endpoint of endpointsOf(document)) {
    for (const [name, check] of checksOf(target, document, endpoint)) {
      const fault = await check().catch((error: Error) => error.message);
      checks.push({ name: `${endpoint.path}: ${name}`, fault });
    }
  }
  return checks;
}

type Check = [name: string, run: () => Promise<string | undefined>];

function checksOf(target: ContractTarget, document: Json, endpoint: Endpoint): Check[] {
  const send = (body: unknown, headers: Record<string, string> = {}) => post(target, endpoint.path, body, headers);
  const [example] = endpoint.examples as [Json];
  return [
    ...endpoint.examples.map(
      (body, index): Check => [
        `example ${index + 1} is accepted`,
        async () => {
          const reply = await send(makeUnique(body, `example-${index}`));
          return expectStatus(reply, 200) ?? schemaFault(document, endpoint.response, reply.body);
        },
      ],
    ),
    ...rejectedRequests(target, endpoint, makeUnique(example, 'caller')),
    ...rejectedBodies(send, example),
    ...rejectedMembers(send, endpoint, example),
    ...(endpoint.isReplayable ? repeatedRequests(send, makeUnique(example, 'replay')) : []),
  ];
}

/** Requests without the right key, and a GET request. */
function rejectedRequests(target: ContractTarget, { path, scope }: Endpoint, body: Json): Check[] {
  const asCaller = async (authorization: string, error: string) => {
    const reply = await post(target, path, body, { authorization });
    return expectError(reply, 401, error);
  };
  return [
    ['a request without a key is rejected', () => asCaller('', 'unauthorized')],
    ['a malformed key is rejected', () => asCaller(`Bearer ${target.key}x`, 'unauthorized')],
    [
      'a well-formed key with a wrong secret is rejected',
      () => asCaller(`Bearer ${withOtherSecret(target.key)}`, 'unauthorized'),
    ],
    ['a key without the scope is rejected', () => asCaller(`Bearer ${target.keyWithout(scope)}`, 'insufficient_scope')],
    [
      'GET is rejected',
      async () => {
        const response = await fetch(target.url + path, { headers: { authorization: `Bearer ${target.key}` } });
        if (!(response.headers.get('allow') ?? '').includes('POST')) return 'Allow does not name POST';
        return expectError(
          { ...response, status: response.status, headers: response.headers, body: await readJson(response) },
          405,
          'method_not_allowed',
        );
      },
    ],
  ];
}

/** The same key with another first character of its secret, which follows the dot. */
const withOtherSecret = (key: string): string => key.replace(/(?<=\.)./, (first) => (first === 'A' ? 'B' : 'A'));

type Send = (body: unknown, headers?: Record<string, string>) => Promise<Reply>;

/** Bodies that are not a JSON object, or that have another media type or encoding. */
function rejectedBodies(send: Send, example: Json): Check[] {
  const rejected = (body: string, error: string, headers?: Record<string, string>): (() => Promise<string | undefined>) => {
    return async () => expectError(await send(body, headers), error === 'unsupported_media_type' ? 415 : 422, error);
  };
  const text = JSON.stringify(example);
  return [
    ['an empty body is rejected', rejected('', 'invalid_json')],
    ['a truncated body is rejected', rejected(text.slice(0, -1), 'invalid_json')],
    [
      'a body with bytes that are not UTF-8 is rejected',
      async () => expectError(await send(Buffer.from([0x22, 0xff, 0x22])), 422, 'invalid_json'),
    ],
    ['an array is rejected', rejected('[]', 'validation_failed')],
    ['null is rejected', rejected('null', 'validation_failed')],
    ['text/plain is rejected', rejected(text, 'unsupported_media_type', { 'content-type': 'text/plain' })],
    ['an unsupported compression is rejected', rejected(text, 'unsupported_media_type', { 'content-encoding': 'br' })],
  ];
}

/** Bodies without a required member, with a member of another type, or with an unknown member. */
function rejectedMembers(send: Send, { request }: Endpoint, example: Json): Check[] {
  const required = new Set((request.required as string[] | undefined) ?? []);
  const members = Object.keys(example);
  const unknownMember: Check = [
    'an unknown member is rejected, with its path',
    async () => expectIssue(await send({ ...example, no_such_member: 1 }), '/no_such_member'),
  ];
  return [
    // Some endpoints accept members that the contract does not define.
    ...(request.additionalProperties === false ? [unknownMember] : []),
    ...members
      .filter((member) => required.has(member))
      .map(
        (member): Check => [
          `a body without ${member} is rejected, with its path`,
          async () => {
            const { [member]: _, ...rest } = example;
            return expectIssue(await send(rest), `/${member}`);
          },
        ],
      ),
    ...members
      .filter((member) => typeof example[member] !== 'object')
      .map(
        (member): Check => [
          `${member} as an array is rejected, with its path`,
          async () => expectIssue(await send({ ...example, [member]: [[]] }), `/${member}`),
        ],
      ),
  ];
}

/** A request that is sent twice with the same Idempotency-Key, and another request with that key. */
function repeatedRequests(send: Send, body: Json): Check[] {
  const headers = { 'idempotency-key': `contract-${Math.random()}` };
  let first: Reply | undefined;
  return [
    [
      'a repeated request has the same response',
      async () => {
        first = await send(body, headers);
        const second = await send(body, headers);
        return JSON.stringify(first.body) === JSON.stringify(second.body) ? expectStatus(second, 200) : 'the responses differ';
      },
    ],
    [
      'another body with the same Idempotency-Key is rejected',
      async () => expectError(await send(makeUnique(body, 'other'), headers), 422, 'idempotency_key_reused'),
    ],
  ];
}

/** Makes a body different from the bodies of other checks: adds the suffix to each `trace_id`, `name` and `action` in it. */
const makeUnique = (body: Json, suffix: string): Json =>
  JSON.parse(JSON.stringify(body).replaceAll(/("(?:trace_id|name|action)":"[^"]*)"/g, `$1-${suffix}"`)) as Json;

function endpointsOf({ paths, components }: Json): Endpoint[] {
  const schemas = (components as { schemas: Record<string, Json> }).schemas;
  return Object.entries(paths as Record<string, { post?: Json }>).flatMap(([path, { post: operation }]) => {
    if (operation === undefined || !/^\/api\/(public|v1)\//.test(path)) return [];
    const content = (
      operation.requestBody as { content: Record<string, { schema: Json; examples: Record<string, { value: Json }> }> }
    ).content;
    const { schema, examples } = content['application/json']!;
    const name = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(schema))![1]!;
    const okResponse = (operation.responses as Record<string, { content: Record<string, { schema: Json }> }>)['200']!;
    const parameters = (operation.parameters as { name?: string; $ref?: string }[] | undefined) ?? [];
    return [
      {
        path,
        scope: /Scope: `(\w+)`/.exec(String(operation.description))?.[1] ?? '',
        isReplayable: JSON.stringify(parameters).includes('Idempotency-Key'),
        examples: Object.values(examples).map(({ value }) => value),
        request: schemas[name]!,
        response: okResponse.content['application/json']!.schema,
      },
    ];
  });
}

async function post({ url, key }: ContractTarget, path: string, body: unknown, headers: Record<string, string>): Promise<Reply> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: (isRaw ? body : JSON.stringify(body)) as NonNullable<RequestInit['body']>,
  });
  return { status: response.status, headers: response.headers, body: await readJson(response) };
}

const readJson = async (response: Response): Promise<Json> => (await response.json()) as Json;

const expectStatus = ({ status, body }: Reply, expected: number): string | undefined =>
  status === expected ? undefined : `status ${status} instead of ${expected}: ${JSON.stringify(body).slice(0, 200)}`;

const expectError = (reply: Reply, status: number, error: string): string | undefined =>
  expectStatus(reply, status) ?? (reply.body.error === error ? undefined : `error ${reply.body.error} instead of ${error}`);

function expectIssue(reply: Reply, path: string): string | undefined {
  const paths = ((reply.body.issues as { path: string }[] | undefined) ?? []).map((issue) => issue.path);
  return (
    expectError(reply, 422, 'validation_failed') ??
    (paths.includes(path) ? undefined : `no issue at ${path}; the issues are at ${JSON.stringify(paths)}`)
  );
}

function schemaFault(document: Json, schema: Json, body: Json): string | undefined {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'openapi', ...document });
  const reference = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as Json;
  return ajv.validate(reference, body) ? undefined : ajv.errorsText();
}
