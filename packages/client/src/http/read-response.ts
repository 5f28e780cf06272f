import type { Issue } from '../wire/contract.ts';
import { apiError, ConnectionError, UnexpectedAnswerError } from './errors.ts';
import type { FetchResponse } from './fetch-like.ts';
import { readText } from './read-text.ts';
import { retryAfterMs } from './retry-pace.ts';

/** A complete response with status 200. */
export interface ParsedResponse {
  value: object;
  text: string;
}

/** Returns the JSON object of a response with status 200. Throws an error for any other response. */
export async function readResponse(response: FetchResponse, url: string): Promise<ParsedResponse> {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const text = await readText(response, url);
  if (status === 0 || (status >= 300 && status < 400)) {
    const target = headers.get('location');
    const where = target === null ? '' : ` to ${target}`;
    throw new UnexpectedAnswerError(
      `${url} redirects${where}; give the final address of the service, because the key is not sent to the target of a redirect`,
      status,
    );
  }
  if (status >= 400) throw apiErrorOf(response, type, text);
  if (status !== 200) throw unexpectedResponseError(url, status, `its status is ${status}`);
  if (!isJson(type))
    throw unexpectedResponseError(url, status, `its content type is ${type === '' ? 'missing' : JSON.stringify(type)}`);
  const value = parseJson(text);
  // The connection may end before the response is complete. The request may be stored, so this counts as no response.
  if (value === undefined) throw new ConnectionError(`the response of ${url} was cut off`);
  if (!isObject(value)) throw unexpectedResponseError(url, status, 'it is not a JSON object');
  return { value, text };
}

/** The error for a response that is not from this service and has no error status. */
export const unexpectedResponseError = (url: string, status: number, why: string): UnexpectedAnswerError =>
  new UnexpectedAnswerError(`the response of ${url} is not from Countersign: ${why}`, status);

function apiErrorOf({ status, headers }: FetchResponse, type: string, text: string) {
  const body = isJson(type) ? parseJson(text) : undefined;
  const { error, issues } = isObject(body) ? body : {};
  return apiError({
    status,
    code: typeof error === 'string' ? error : undefined,
    requestId: headers.get('x-request-id') ?? undefined,
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
    retryAfterMs: retryAfterMs(headers.get('retry-after'), Date.now()),
    missingScope: /\bscope="([a-z]{1,32})"/.exec(headers.get('www-authenticate') ?? '')?.[1],
  });
}

const isJson = (type: string): boolean => /^application\/json\s*(;|$)/i.test(type);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isIssue = (value: unknown): value is Issue =>
  isObject(value) && ['path', 'code', 'message'].every((name) => typeof value[name] === 'string');
