import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is checked without the types that it is generated from.
type Json = any;

let server: TestServer;
let document: Json;

beforeAll(async () => {
  server = await testServer();
  const response = await fetch(`${server.url}/openapi.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  document = await response.json();
});

/** Every object and list of the document with its JSON Pointer. */
function* nodes(value: Json, at = '#'): Generator<[at: string, node: Json]> {
  if (typeof value !== 'object' || value === null) return;
  yield [at, value];
  for (const [name, member] of Object.entries(value))
    yield* nodes(member, `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

const postOperations = (): [string, Json][] =>
  Object.entries<Json>(document.paths).flatMap(([path, { post }]) => (post === undefined ? [] : [[path, post]]));
const jsonOperations = () => postOperations().filter(([path]) => !path.startsWith('/v1/'));
const otlpOperations = () => postOperations().filter(([path]) => path.startsWith('/v1/'));
const readEndpoints = (): [string, Json][] =>
  Object.entries<Json>(document.paths).flatMap(([path, { get }]) => (get === undefined ? [] : [[path, get]]));

/** Follows a reference within the document. */
function resolve(schema: Json): Json {
  return schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.replace('#/components/schemas/', '')];
}

describe('the OpenAPI document', () => {
  test('is an OpenAPI 3.1 document of API version 1.0.0, with all JSON POST endpoints, unique operation IDs and both security schemes', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: 'Countersign', version: '1.0.0', license: { identifier: 'Apache-2.0' } });
    expect(
      jsonOperations()
        .map(([path]) => path)
        .sort(),
    ).toEqual(Object.values(paths).sort());
    for (const item of Object.values<Json>(document.paths)) expect(Object.keys(item)).toHaveLength(1);
    const all = [...postOperations(), ...readEndpoints()];
    expect(new Set(all.map(([, { operationId }]) => operationId)).size).toBe(Object.keys(document.paths).length);
    expect(document.components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      serviceKey: { type: 'apiKey', in: 'header', name: 'X-Service-Key' },
    });
    expect(document.security).toEqual([{ bearer: [] }, { serviceKey: [] }]);
  });

  test('gives each number except those of OtlpStatus a format of 64 bits, because client generators otherwise use 32 bits', () => {
    const formats = { integer: 'int64', number: 'double' };
    const numbers = [...nodes(document)].flatMap(([at, { type, format }]) => {
      const numericType = [type].flat().find((each) => each === 'integer' || each === 'number') as
        | keyof typeof formats
        | undefined;
      return numericType === undefined || at.startsWith('#/components/schemas/OtlpStatus') ? [] : [[at, numericType, format]];
    });
    expect(numbers.length).toBeGreaterThan(50);
    for (const [at, type, format] of numbers as [string, keyof typeof formats, string][])
      expect([at, format]).toEqual([at, formats[type]]);
  });

  test('gives each list a schema of its items, because some client generators omit lists without this schema', () => {
    const lists = [...nodes(document)].filter(([, { type }]) => [type].flat().includes('array'));
    expect(lists.length).toBeGreaterThan(5);
    for (const [at, { items }] of lists) expect([at, typeof items]).toEqual([at, 'object']);
  });

  test('has at most one type besides null in each schema, because some client generators do not support more', () => {
    const nodesWithMultipleTypes = [...nodes(document)].filter(
      ([, { type }]) => Array.isArray(type) && type.filter((each: string) => each !== 'null').length > 1,
    );
    expect(nodesWithMultipleTypes.map(([at]) => at)).toEqual([]);
    const { anyOf } = document.components.schemas.Message.properties.content;
    expect(anyOf).toEqual([{ type: 'string' }, { type: 'array', items: {} }, { type: 'null' }]);
  });

  test('has no broken reference, no unused schema and no $id', () => {
    const referencedNames = new Set<string>();
    for (const [at, node] of nodes(document)) {
      if (typeof node.$ref === 'string') {
        expect([at, resolve(node)]).toEqual([at, expect.objectContaining({ type: 'object' })]);
        referencedNames.add(node.$ref.split('/').at(-1));
      }
      expect([at, Object.hasOwn(node, '$id')]).toEqual([at, false]);
    }
    expect([...referencedNames].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  test('has a description and known types for every member of every schema', () => {
    const knownTypes = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'];
    for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
      for (const [member, property] of Object.entries<Json>(schema.properties)) {
        const at = `${name}.${member}`;
        expect([at, typeof (property.description ?? resolve(property).description)]).toEqual([at, 'string']);
        for (const type of [property.type ?? []].flat()) expect(knownTypes).toContain(type);
        for (const value of property.enum ?? []) expect([at, typeof value]).toEqual([at, value === null ? 'object' : 'string']);
      }
      for (const member of schema.required ?? []) expect(Object.keys(schema.properties)).toContain(member);
    }
  });

  test('describes body, examples, response, errors and headers of every JSON POST endpoint', () => {
    for (const [path, post] of jsonOperations()) {
      const { schema, examples } = post.requestBody.content['application/json'];
      expect(post.requestBody.required).toBe(true);
      expect((schema.anyOf ?? [schema]).length).toBe(path === paths.telemetry ? 2 : 1);
      expect(Object.keys(examples)).toEqual(Object.keys(post.responses[200].content['application/json'].examples));
      expect(Object.keys(post.responses)).toEqual(
        expect.arrayContaining(['200', '401', '413', '415', '422', '429', '500', '503']),
      );
      for (const [status, response] of Object.entries<Json>(post.responses)) {
        expect(response.description.length).toBeGreaterThan(5);
        expect(Object.keys(response.headers)).toContain('X-Request-Id');
        if (status !== '200') expect(response.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Error' });
      }
      const names = (post.parameters ?? []).map(({ name }: Json) => name);
      expect(names).toEqual(path === paths.promotionCheck ? ['Prefer', 'Countersign-Nonce'] : ['Idempotency-Key']);
    }
  });

  test('read endpoints accept only a read token, except the endpoint of the public keys, which needs no token', async () => {
    const tenantId = await server.workspace();
    const token = await mintKey(server.open.pool, tenantId, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
    const key = await server.key(tenantId);
    expect((await server.post(paths.audit, key, { actor: 'ci', action: 'test' })).status).toBe(200);
    expect((await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot' })).status).toBe(200);
    expect((await server.post(paths.traces, key, { trace_id: 'run-1', agent_name: 'bot', spans: [] })).status).toBe(200);
    const { decision_id: decision } = (await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body;
    expect(readEndpoints().length).toBeGreaterThan(10);
    for (const [path, get] of readEndpoints()) {
      const requestPath = path.replace('{seq}', '1').replace('{id}', decision) + (/consistency/.test(path) ? '?first=0' : '');
      const read = (bearer?: string) =>
        fetch(server.url + requestPath, { headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` } });
      const response = await read(token);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('content-type')).toContain(Object.keys(get.responses[200].content)[0]);
      const isOpen = get.security.length === 0;
      expect([path, (await read(key)).status, (await read()).status]).toEqual([path, ...(isOpen ? [200, 200] : [401, 401])]);
      expect([path, isOpen]).toEqual([path, path === '/.well-known/jwks.json']);
      for (const { name, description } of get.parameters ?? []) expect([name, description.length > 10]).toEqual([name, true]);
    }
    const page = await (await fetch(`${server.url}/docs`)).text();
    for (const [path] of readEndpoints()) expect(page).toContain(path);
  });

  test('lists each of six response headers for exactly the statuses that have it', () => {
    for (const [path, operation] of [...postOperations(), ...readEndpoints()]) {
      const isOpen = operation.security?.length === 0;
      for (const [status, { headers }] of Object.entries<Json>(operation.responses)) {
        const listed = (name: string) => [path, status, name, Object.hasOwn(headers, name)];
        const isRateLimited = !isOpen && !['400', '401', '405', '408', '421', '431'].includes(status);
        const expected = {
          'WWW-Authenticate': status === '401',
          Allow: status === '405',
          'Retry-After': status === '429' || status === '503',
          RateLimit: isRateLimited,
          'RateLimit-Policy': isRateLimited,
          'Preference-Applied': path === paths.promotionCheck && status === '200',
        };
        for (const [name, isListed] of Object.entries(expected)) expect(listed(name)).toEqual([path, status, name, isListed]);
      }
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['200', '400', '405', '408', '431', '500', '503']));
    }
  });

  test('the OTLP endpoints respond as described in both media types', async () => {
    expect(otlpOperations().map(([path]) => path)).toEqual(['/v1/traces', '/v1/logs', '/v1/metrics']);
    const key = await server.key(await server.workspace());
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const page = await (await fetch(`${server.url}/docs`)).text();
    for (const [path, { requestBody, responses }] of otlpOperations()) {
      expect(page).toContain(path);
      for (const type of Object.keys(requestBody.content)) {
        const send = (body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) =>
          fetch(server.url + path, { method: 'POST', body, headers: { 'content-type': type, 'x-service-key': key, ...more } });
        const received = await Promise.all([
          send(type === 'application/json' ? '{}' : new Uint8Array()),
          send('no export'),
          send('{}', { 'x-service-key': 'nobody' }),
          send('{}', { 'content-encoding': 'br' }),
          send('{}', { 'content-type': 'text/plain' }),
          fetch(server.url + path, { method: 'PUT' }),
        ]);
        expect([path, type, received.map(({ status }) => status)]).toEqual([path, type, [200, 400, 401, 415, 415, 405]]);
        for (const response of received) {
          const describedContent = responses[response.status].content;
          const contentType = response.headers.get('content-type')!.replace('; charset=utf-8', '');
          expect(Object.keys(describedContent)).toContain(contentType);
          if (contentType !== 'application/json') continue;
          const { schema } = describedContent['application/json'];
          const body = await response.json();
          expect([path, body, ajv.validate({ ...schema, components: document.components }, body)]).toEqual([path, body, true]);
        }
      }
    }
  });

  test('accepts and rejects the same bodies as the server', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const key = await server.key(await server.workspace());
    const run = { trace_id: 'a', outcome: 'success' };
    const span = { span_id: 's', kind: 'llm', name: 'n' };
    const bodies: [path: string, body: object, isAccepted: boolean][] = [
      [paths.promotionCheck, {}, false],
      [paths.promotionCheck, { agent_id: null }, false],
      [paths.promotionCheck, { agent_id: null, agent_name: 'a' }, true],
      [paths.promotionCheck, { agent_id: '0198f1c2-7d3e-7a41-9b1e-3f2a5c6d7e8f' }, true],
      [paths.telemetry, run, true],
      [paths.telemetry, { ...run, events: null }, true],
      [paths.telemetry, { ...run, events: [] }, false],
      [paths.telemetry, { ...run, events: [run] }, true],
      [paths.telemetry, { events: [{ ...run, events: [] }] }, true],
    ];
    for (const [time, isAccepted] of [
      ['2026-11-20T09:30:00', true],
      ['2026-11-20t09:30:00.123456789z', true],
      ['2026-12-31T23:59:60+00:00', true],
      ['2026-11-20T09:30:00.0123456789Z', false],
      ['2026-11-20 09:30:00Z', false],
      ['2026-11-20T09:30Z', false],
      ['2026-13-20T09:30:00', false],
    ] as const) {
      bodies.push([paths.telemetry, { ...run, started_at: time }, isAccepted]);
      bodies.push([paths.traces, { ...run, spans: [{ ...span, ended_at: time }] }, isAccepted]);
    }
    for (const [path, body, isAccepted] of bodies) {
      const { schema } = document.paths[path].post.requestBody.content['application/json'];
      const isValid = ajv.validate({ ...schema, components: document.components }, body);
      const { status } = await server.post(path, key, body);
      expect([path, body, isValid, status]).toEqual([path, body, isAccepted, isAccepted ? 200 : 422]);
    }
  });

  test('has the documented limits and defaults', () => {
    const { Trace, TelemetryBatch, Evaluation, PromotionCheck, AuditEntry } = document.components.schemas;
    expect(Trace.properties.spans.maxItems).toBe(500);
    expect(TelemetryBatch.properties.events).toMatchObject({ minItems: 1, maxItems: 200 });
    expect(Evaluation.properties.pass_rate).toMatchObject({ minimum: 0, maximum: 100 });
    expect(Evaluation.properties.status).toMatchObject({
      default: 'passing',
      enum: ['scheduled', 'running', 'passing', 'failing', null],
    });
    expect(PromotionCheck.properties.min_pass_rate).toMatchObject({ minimum: 0, maximum: 100, default: 80 });
    expect(PromotionCheck.properties.max_age_hours).toMatchObject({ minimum: 1, maximum: 8760, default: 72 });
    expect(Trace.properties.outcome).toMatchObject({ default: 'success' });
    expect(AuditEntry.properties.retention_until.pattern).toBe('^\\d{4}-\\d{2}-\\d{2}$');
    for (const strict of [Evaluation, AuditEntry, PromotionCheck]) expect(strict.additionalProperties).toBe(false);
    for (const tolerant of [Trace, TelemetryBatch]) expect(tolerant.additionalProperties).not.toBe(false);
  });
});

test('the server accepts every example request, and its response has the members, types and constant values of the example', async () => {
  const key = await server.key(await server.workspace());
  for (const [path, post] of jsonOperations()) {
    const requests = post.requestBody.content['application/json'].examples;
    const described = post.responses[200].content['application/json'];
    for (const [name, { value }] of Object.entries<Json>(requests)) {
      const { status, headers, body } = await server.post(path, key, value);
      const exampleBody = described.examples[name].value;
      expect([path, name, status, body.error]).toEqual([path, name, 200, undefined]);
      expect(shape(body)).toEqual(shape(exampleBody));
      expect(constantValues(body)).toEqual(constantValues(exampleBody));
      for (const member of resolve(described.schema).required) expect(Object.keys(body)).toContain(member);
      expect(Object.keys(resolve(described.schema).properties)).toEqual(expect.arrayContaining(Object.keys(body)));
      expect(headers.get('countersign-ledger-seq')).toBe(path === paths.audit ? '1' : null);
    }
  }
});

/** The names and types of a value's members, at every level. */
const shape = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, shape(value[name])]),
  );
};

/**
 * A value without the members that can differ between runs: IDs except `trace_id`, hashes, signatures, sizes, times, ages, messages and
 * members such as `recorded_by`.
 */
const constantValues = (value: Json): Json =>
  JSON.parse(
    JSON.stringify(value, (name, member) =>
      /(^|_)(id|at|age|by|hash|sha256|size|timestamp|signature|message)$/.test(name) && name !== 'trace_id' ? undefined : member,
    ),
  );
