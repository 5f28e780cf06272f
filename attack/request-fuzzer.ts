import { openApiDocument } from '@countersign/core/contract/openapi';
import { PORTAL_ROUTES } from '@countersign/core/portal/routes';
import type { Random } from './random.ts';
import { httpText } from './requests.ts';
import type { Workspace } from './target.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is JSON, walked for its paths and examples.
type Json = any;

/** A kind of request, from the OpenAPI document or from the portal's routes. */
interface RequestTemplate {
  method: string;
  path: string;
  /** A valid body to mutate; undefined where the request has none. */
  body: unknown;
  query: readonly string[];
}

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

/** A template for every request in the OpenAPI document and in the portal's table. */
function requestTemplates(): RequestTemplate[] {
  const document = openApiDocument() as Json;
  const described = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).flatMap(([method, operation]) => {
      const examples = Object.values<Json>(operation.requestBody?.content['application/json'].examples ?? {});
      const query = (operation.parameters ?? []).filter((each: Json) => each.in === 'query').map((each: Json) => each.name);
      const bodies = examples.length === 0 ? [undefined] : examples.map(({ value }) => value);
      return bodies.map((body): RequestTemplate => ({ method: method.toUpperCase(), path, body, query }));
    }),
  );
  const portal = Object.values<Json>(PORTAL_ROUTES).map(({ method, path, body, query }): RequestTemplate => {
    const members = Object.keys(body?.properties ?? {});
    const example = body === undefined ? undefined : Object.fromEntries(members.map((member) => [member, 'x']));
    return { method, path, body: example, query: Object.keys(query?.properties ?? {}) };
  });
  return [...described, ...portal];
}

/** Generates requests: each fills a template and mutates parts of it. */
export class RequestFuzzer {
  readonly #templates = requestTemplates();
  readonly #random: Random;
  readonly #workspace: Workspace;

  constructor(random: Random, workspace: Workspace) {
    this.#random = random;
    this.#workspace = workspace;
  }

  /** The next request, as bytes. */
  next(): Buffer {
    const random = this.#random;
    const template = random.pick(this.#templates);
    const body =
      template.body === undefined ? '' : this.#serialize(random.chance(0.85) ? this.#mutate(template.body) : template.body);
    const length = random.chance(0.02) ? Math.floor(random.next() * 50) : Buffer.byteLength(body);
    const headers: Record<string, string | number> = {
      Authorization: random.chance(0.95) ? `Bearer ${this.#workspace.key}` : `Bearer ${random.pick(INVALID_HEADER_VALUES)}`,
      Cookie: random.chance(0.95) ? this.#workspace.cookie : `countersign=${random.pick(INVALID_HEADER_VALUES)}`,
      Origin: random.chance(0.95) ? 'http://127.0.0.1' : random.pick(INVALID_HEADER_VALUES),
      'Content-Type': random.chance(0.95) ? 'application/json' : random.pick(MEDIA_TYPES),
      ...(random.chance(0.1) ? { 'Idempotency-Key': random.pick(INVALID_HEADER_VALUES) } : {}),
      ...(random.chance(0.05) ? { [random.pick(HEADER_NAMES)]: random.pick(INVALID_HEADER_VALUES) } : {}),
      ...(body === '' && template.method === 'GET' ? {} : { 'Content-Length': length }),
    };
    const method = random.chance(0.03) ? random.pick(['PUT', 'OPTIONS', 'DELETE', 'HEAD', 'PROPFIND']) : template.method;
    return Buffer.from(httpText(method, this.#path(template), { ...headers, Connection: 'close' }, body));
  }

  #path({ path, query }: RequestTemplate): string {
    const random = this.#random;
    const filled = path
      .replace(':workspace', random.chance(0.95) ? this.#workspace.tenantId : 'nothing')
      .replace(/:\w+|\{\w+\}/g, () => encodeURIComponent(random.pick(PARAMETERS)));
    const given = query.filter(() => random.chance(0.4)).map((name) => `${name}=${encodeURIComponent(random.pick(PARAMETERS))}`);
    if (random.chance(0.05)) given.push('unknown=%zz');
    return given.length === 0 ? filled : `${filled}?${given.join('&')}`;
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
    const [name, inner] = random.pick(members);
    if (random.chance(0.15)) return Object.fromEntries(members.filter(([each]) => each !== name));
    return { ...value, [name]: this.#mutate(inner) };
  }

  /** Returns the value as JSON, in rare cases truncated or with an invalid character. */
  #serialize(value: unknown): string {
    const text = JSON.stringify(value) ?? '';
    if (this.#random.chance(0.03)) return text.slice(0, Math.floor(this.#random.next() * text.length));
    return this.#random.chance(0.02) ? text.replace('"', '\u0001') : text;
  }
}

const PARAMETERS = [
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
const INVALID_HEADER_VALUES = ['x', 'a'.repeat(300), 'aa_live_0', '"', 'null', 'countersign-attestation', '%00', '*'];
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
