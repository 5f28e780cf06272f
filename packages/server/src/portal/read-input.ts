import type { PortalRoute } from '@countersign/core/portal/route';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import { BODY_BOUNDS } from '../http/body-bounds.ts';
import { parseJson } from '../http/parse-json.ts';
import { readBody } from '../http/read-body.ts';
import { findIssues } from '../http/validate-body.ts';
import type { PortalParts } from './portal-parts.ts';
import type { Requester } from './signed-in.ts';

/** Query and body of a request, validated by the route's schemas. */
export interface Input {
  query: unknown;
  body: unknown;
}

/**
 * Creates a function that reads and validates query and body of a route. It reports up to 100 issues of the query or, if the query is
 * valid, up to 100 issues of the body. A route without a query reports only the first parameter that it gets.
 */
export function inputReader(
  route: PortalRoute,
  parts: PortalParts,
): (request: FastifyRequest, requester: Requester) => Promise<Input> {
  const query = route.query === undefined ? requireNoParameters : validator(route.query);
  const body = route.body === undefined ? undefined : validator(route.body);
  return async (request, requester) => ({
    query: query(request.query),
    body: body === undefined ? undefined : body(await jsonOf(request, requester, parts)),
  });
}

/** A route without a query rejects parameters, so that a misspelled filter is not ignored. */
const requireNoParameters = (query: unknown): unknown => {
  const [name] = Object.keys(query as object);
  if (name === undefined) return {};
  throw validationFailed({
    path: '',
    code: 'bad_query',
    message: `this endpoint has no query parameter ${JSON.stringify(name.slice(0, 60))}`,
  });
};

function validator(schema: TSchema): (value: unknown) => unknown {
  return (value) => {
    const issues = findIssues(schema, value);
    if (issues.length > 0) throw new ApiError('validation_failed', issues);
    return value;
  };
}

/** The ID under which memory for bodies is reserved on routes for anyone. All callers of these routes share one allowance. */
const ANONYMOUS = 'nobody';

/**
 * The maximum size of a body for a route for anyone. It is enough for the longest names, address, password and link, with each character
 * escaped.
 */
const ANONYMOUS_BYTES_MAX = 32 * 1024;

async function jsonOf(request: FastifyRequest, { person }: Requester, { bytesMax, reading }: PortalParts): Promise<unknown> {
  const limits =
    person === undefined
      ? { bytesMax: Math.min(bytesMax, ANONYMOUS_BYTES_MAX), tenantId: ANONYMOUS }
      : { bytesMax, tenantId: person.id };
  const { document, release } = await readBody(request.raw, { ...limits, admission: reading });
  try {
    return parseJson(document, BODY_BOUNDS.portal).value;
  } finally {
    release();
  }
}
