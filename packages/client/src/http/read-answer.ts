import type { Issue } from '../wire/contract.ts';
import { apiError, ConnectionError, UnexpectedAnswerError } from './errors.ts';
import type { FetchAnswer } from './fetch-like.ts';
import { retryAfterMs } from './retry-pace.ts';

/** An answer of 200, read whole. */
export interface ReadAnswer {
  value: object;
  text: string;
}

/** Reads an answer: the JSON object of a 200, or the error that it is. */
export async function readAnswer(answer: FetchAnswer, url: string): Promise<ReadAnswer> {
  const { status, headers } = answer;
  const type = headers.get('content-type') ?? '';
  const text = await answer.text();
  if (status === 0 || (status >= 300 && status < 400)) {
    const target = headers.get('location');
    const where = target === null ? '' : ` to ${target}`;
    throw new UnexpectedAnswerError(
      `${url} redirects${where}; the key is not sent there: set baseUrl to the final address`,
      status,
    );
  }
  if (status !== 200) throw refusalOf(answer, type, text);
  if (!isJson(type)) throw notOfTheService(url, status, `its content type is ${type === '' ? 'missing' : JSON.stringify(type)}`);
  const value = parsed(text);
  // Cut off where a connection's end is the answer's end: it may well be stored, so it is as if no answer had come.
  if (value === undefined) throw new ConnectionError(`the answer of ${url} was cut off`);
  if (!isObject(value)) throw notOfTheService(url, status, 'it is no JSON object');
  return { value, text };
}

/** An answer of 200 that says something else than this service would. */
export const notOfTheService = (url: string, status: number, why: string): UnexpectedAnswerError =>
  new UnexpectedAnswerError(`what answers at ${url} is not Countersign: ${why}`, status);

function refusalOf({ status, headers }: FetchAnswer, type: string, text: string) {
  const body = isJson(type) ? parsed(text) : undefined;
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

function parsed(text: string): unknown {
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
