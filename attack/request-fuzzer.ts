import { openApiDocument } from '@countersign/core/contract/openapi';
import { PORTAL_ROUTES } from '@countersign/core/portal/routes';
import { type ExampleChoice, exampleOf, type JsonSchema } from '../packages/server/test/fixtures/example-values.ts';
import { jsonExport } from '../packages/server/test/otlp/test-exports.ts';
import type { Random } from './random.ts';
import { httpText } from './requests.ts';
import type { Workspace } from './workspaces.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is JSON, walked for its paths and examples.
type Json = any;

/** The workspace of the fuzzed requests. */
export interface FuzzSubject extends Workspace {
  /** A token that reads the ledger. */
  readToken: string;
  /** Session cookies for requests that end their session or reduce its rights. */
  spareCookies: readonly string[];
  /** Values that refer to stored records, by the names of parameters and members (one-of-each.ts). */
  values: Readonly<Record<string, string>>;
}

/** A kind of request, from the OpenAPI document or from the portal's routes. */
interface RequestTemplate {
  method: string;
  path: string;
  /** A valid body to mutate. */
  body?: unknown;
  /** The schema of the body, for the portal's routes. A request without a body has neither `body` nor `bodySchema`. */
  bodySchema?: JsonSchema;
  /** The schema of each query parameter. */
  query: Readonly<Record<string, JsonSchema>>;
}

/** Paths of requests that end a session or reduce its rights. */
const ENDS_SESSION = /\/(session|membership|account\/password|account\/sessions\/:session)$/;

/** Values that most members do not accept. */
const INVALID_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  0.1,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '💥',
  '../..',
  "'; --",
  'x'.repeat(600),
  [],
  {},
  [[]],
  { a: null },
  '2026-02-30T00:00:00Z',
  '9999-12-31T23:59:60Z',
  '00000000-0000-0000-0000-000000000000',
  Array(300).fill('x'),
];

const MEDIA_TYPES = ['application/json', 'text/plain', 'application/json; charset=latin1', ''];

/** The body for endpoints without an example: an OpenTelemetry export. */
const SPANS = jsonExport([{ traceId: '1'.repeat(32), spanId: '1'.repeat(16), attributes: { 'gen_ai.request.model': 'm' } }]);

/** One template for each example body of the OpenAPI document, for each operation without examples, and for each route of the portal. */
function requestTemplates(): RequestTemplate[] {
  const document = openApiDocument() as Json;
  const documented = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).flatMap(([method, { requestBody, parameters = [] }]) => {
      const examples = Object.values<Json>(requestBody?.content['application/json'].examples ?? {}).map(({ value }) => value);
      const queryParameters = parameters
        .filter((each: Json) => each.in === 'query')
        .map((each: Json) => [each.name, each.schema]);
      const bodies = examples.length > 0 ? examples : [requestBody === undefined ? undefined : SPANS];
      const query = Object.fromEntries(queryParameters);
      return bodies.map((body): RequestTemplate => ({ method: method.toUpperCase(), path, body, query }));
    }),
  );
  const portal = Object.values<Json>(PORTAL_ROUTES).map(
    ({ method, path, body, query }): RequestTemplate => ({ method, path, bodySchema: body, query: query?.properties ?? {} }),
  );
  return [...documented, ...portal];
}

/** Generates requests from templates. Random parts of most requests are mutated. */
export class RequestFuzzer {
  readonly #templates = requestTemplates();
  readonly #random: Random;
  readonly #subject: FuzzSubject;
  readonly #choice: ExampleChoice;

  constructor(random: Random, subject: FuzzSubject) {
    this.#random = random;
    this.#subject = subject;
    this.#choice = {
      valueOf: (name) => (random.chance(0.7) ? subject.values[name] : undefined),
      includes: () => random.chance(0.6),
    };
  }

  /** The next request, as bytes, and the route that it is for. */
  next(): { route: string; bytes: Buffer } {
    const random = this.#random;
    const template = random.pick(this.#templates);
    const body = this.#body(template);
    // The declared length is never longer than the body. Otherwise the server would wait many seconds for the rest (slow-senders.ts).
    const length = random.chance(0.02) ? Math.floor(random.next() * Buffer.byteLength(body)) : Buffer.byteLength(body);
    const method = random.chance(0.03) ? random.pick(['PUT', 'OPTIONS', 'DELETE', 'HEAD', 'PROPFIND']) : template.method;
    const headers: Record<string, string | number> = {
      Authorization: `Bearer ${random.chance(0.95) ? this.#token(template) : random.pick(HEADER_VALUES)}`,
      Cookie: random.chance(0.95) ? this.#cookie(method, template.path) : `countersign=${random.pick(HEADER_VALUES)}`,
      Origin: random.chance(0.95) ? 'http://127.0.0.1' : random.pick(HEADER_VALUES),
      'Content-Type': random.chance(0.95) ? 'application/json' : random.pick(MEDIA_TYPES),
      ...(random.chance(0.1) ? { 'Idempotency-Key': random.pick(HEADER_VALUES) } : {}),
      ...(random.chance(0.05) ? { [random.pick(HEADER_NAMES)]: random.pick(HEADER_VALUES) } : {}),
      ...(body === '' && template.method === 'GET' ? {} : { 'Content-Length': length }),
    };
    const bytes = Buffer.from(httpText(method, this.#path(template), { ...headers, Connection: 'close' }, body));
    return { route: `${template.method} ${template.path}`, bytes };
  }

  /** The routes that requests are made for. */
  get routes(): string[] {
    return [...new Set(this.#templates.map(({ method, path }) => `${method} ${path}`))];
  }

  #token({ path }: RequestTemplate): string {
    return path.startsWith('/api/ledger/') ? this.#subject.readToken : this.#subject.key;
  }

  #cookie(method: string, path: string): string {
    const { cookie, spareCookies } = this.#subject;
    return method !== 'GET' && ENDS_SESSION.test(path) ? this.#random.pick(spareCookies) : cookie;
  }

  #body({ body, bodySchema }: RequestTemplate): string {
    const valid = bodySchema === undefined ? body : exampleOf(bodySchema, this.#choice);
    if (valid === undefined) return '';
    return this.#serialize(this.#random.chance(0.7) ? this.#mutate(valid) : valid);
  }

  #path({ path, query }: RequestTemplate): string {
    const random = this.#random;
    const filledPath = path
      .replace(':workspace', random.chance(0.95) ? this.#subject.tenantId : 'nothing')
      .replace(/:(\w+)|\{(\w+)\}/g, (_, portalName?: string, name?: string) => {
        const storedValue = this.#subject.values[portalName ?? name!];
        return encodeURIComponent(storedValue !== undefined && random.chance(0.7) ? storedValue : random.pick(PARAMETER_VALUES));
      });
    const parameters = Object.entries(query).flatMap(([name, schema]) => {
      if (!random.chance(0.4)) return [];
      const value = random.chance(0.7) ? String(exampleOf(schema, this.#choice, name)) : random.pick(PARAMETER_VALUES);
      return [`${name}=${encodeURIComponent(value)}`];
    });
    if (random.chance(0.05)) parameters.push('unknown=%zz');
    return parameters.length === 0 ? filledPath : `${filledPath}?${parameters.join('&')}`;
  }

  /** Returns a copy of the value with one part changed. */
  #mutate(value: unknown): unknown {
    const random = this.#random;
    if (typeof value !== 'object' || value === null || random.chance(0.1)) return random.pick(INVALID_VALUES);
    if (Array.isArray(value)) {
      if (value.length === 0) return [random.pick(INVALID_VALUES)];
      const at = Math.floor(random.next() * value.length);
      return value.map((each, index) => (index === at ? this.#mutate(each) : each));
    }
    const members = Object.entries(value);
    if (members.length === 0 || random.chance(0.1))
      return { ...value, [random.pick(['extra', '__proto__', '\u0000'])]: random.pick(INVALID_VALUES) };
    const [name, memberValue] = random.pick(members);
    if (random.chance(0.15)) return Object.fromEntries(members.filter(([each]) => each !== name));
    return { ...value, [name]: this.#mutate(memberValue) };
  }

  /** Returns the value as JSON, in rare cases truncated or with an invalid character. */
  #serialize(value: unknown): string {
    const text = JSON.stringify(value) ?? '';
    if (this.#random.chance(0.03)) return text.slice(0, Math.floor(this.#random.next() * text.length));
    return this.#random.chance(0.02) ? text.replace('"', '\u0001') : text;
  }
}

const PARAMETER_VALUES = [
  '1',
  '0',
  '-1',
  '99999999999999999999',
  'audit',
  'x',
  '\u0000',
  '💥',
  '00000000-0000-7000-8000-000000000000',
  "' OR 1=1",
  '',
];
const HEADER_VALUES = ['x', 'a'.repeat(300), 'aa_live_0', '"', 'null', 'countersign-attestation', '%00', '*'];
const HEADER_NAMES = [
  'Prefer',
  'Content-Encoding',
  'If-None-Match',
  'Accept',
  'Range',
  'X-Forwarded-Host',
  'Expect',
  'X-Service-Key',
];
