import type { ErrorBody } from '@countersign/core/contract/errors';
import { visibleSpaces } from '@countersign/core/domain/visible-spaces';

/** One reason why the server rejected a request, in most cases an invalid field. */
export interface FieldIssue {
  /** JSON Pointer to the field; empty if the reason is not about a field. */
  path: string;
  code: string;
  message: string;
}

/** A failed call or an error of the page itself, with a message for the person. `kind` decides what the page does. */
export class Problem extends Error {
  readonly kind:
    | 'lost'
    | 'signed-out'
    | 'wrong-password'
    | 'forbidden'
    | 'missing'
    | 'gone'
    | 'invalid'
    | 'conflict'
    | 'limited'
    | 'server'
    | 'page';
  /** The HTTP status; 0 if there was no complete response, or for an error of the page itself. */
  readonly status: number;
  readonly code: string;
  readonly issues: readonly FieldIssue[];
  readonly requestId: string | undefined;

  constructor(
    status: number,
    code: string,
    issues: readonly FieldIssue[] = [],
    details: { requestId?: string; waitSeconds?: number } = {},
  ) {
    super(messageOf(status, code, issues, details.waitSeconds));
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.issues = issues;
    this.requestId = details.requestId;
    this.kind = kindOf(status, code);
  }

  /** Whether the cause may be temporary. Then the same call can succeed later. */
  get isRetryable(): boolean {
    return this.kind === 'lost' || this.kind === 'server' || this.kind === 'limited';
  }
}

/** Reads the problem from an error response. Its code is `unreadable` if the body is not JSON or has no code. */
export async function readProblem(response: Response): Promise<Problem> {
  const waitSeconds = Number(response.headers.get('retry-after'));
  const details = { ...requestIdOf(response), ...(waitSeconds > 0 ? { waitSeconds } : {}) };
  try {
    const { error, issues } = (await response.json()) as ErrorBody;
    const code = typeof error === 'string' ? error : 'unreadable';
    return new Problem(response.status, code, Array.isArray(issues) ? issues : [], details);
  } catch {
    return new Problem(response.status, 'unreadable', [], details);
  }
}

/** The ID of the request that a response belongs to, if the response has one. */
export function requestIdOf(response: Response): { requestId?: string } {
  const requestId = response.headers.get('x-request-id');
  return requestId === null ? {} : { requestId };
}

/** Converts any thrown value to a problem that can be shown. */
export const toProblem = (error: unknown): Problem => (error instanceof Problem ? error : new Problem(0, 'page_error'));

/** Whether the record does not exist any more, or the person may not read it. In both cases, older data of the record must not be shown. */
export const isMissingOrForbidden = (error: unknown): boolean =>
  error instanceof Problem && ['missing', 'forbidden'].includes(error.kind);

function kindOf(status: number, code: string): Problem['kind'] {
  if (code === 'page_error') return 'page';
  if (status === 0 || status === 502 || status === 504) return 'lost';
  if (status === 401) return code === 'sign_in_failed' ? 'wrong-password' : 'signed-out';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'missing';
  if (status === 409) return 'conflict';
  if (status === 410) return 'gone';
  if (status === 429) return 'limited';
  // Below 400 the server reported success, but its response cannot be read.
  return status >= 500 || status < 400 ? 'server' : 'invalid';
}

const MESSAGES: Record<Problem['kind'], string> = {
  lost:
    'The server is not responding. Your input is kept. Try again when the connection is back. ' +
    'If you submitted a change, first check whether it was stored.',
  'signed-out': 'You are signed out. Your input is kept. Sign in again in another tab, then try again.',
  'wrong-password': 'Wrong email or password.',
  forbidden: 'Your role in this workspace does not allow this. An admin of the workspace can change your role.',
  missing: 'The record does not exist, or it belongs to another workspace.',
  gone: 'This link was already used, has expired, or is not valid. Ask for a new one.',
  invalid: 'The server rejected the request.',
  conflict: 'Someone else changed the data in the meantime. Check the current state, then try again.',
  limited: 'Too many requests. Wait a moment and try again.',
  page: 'Something went wrong. Reload the page. If it happens again, tell the operator of this server.',
  server: 'The server could not complete the request. Try again. If you submitted a change, first check whether it was stored.',
};

const relative = new Intl.RelativeTimeFormat('en');

/** `in 40 seconds`, `in 15 minutes`; rounded up. */
const formatDelay = (seconds: number): string =>
  seconds <= 90 ? relative.format(Math.ceil(seconds), 'second') : relative.format(Math.ceil(seconds / 60), 'minute');

/**
 * The message of a problem. A `limited` problem with a known waiting time names that time. Otherwise the messages of its issues replace the
 * default message of its kind, because they are more specific.
 */
function messageOf(status: number, code: string, issues: readonly FieldIssue[], waitSeconds?: number): string {
  if (kindOf(status, code) === 'limited' && waitSeconds !== undefined)
    return `Too many requests. Try again ${formatDelay(waitSeconds)}.`;
  return issues.length === 0 ? MESSAGES[kindOf(status, code)] : joinMessages(issues.map(({ message }) => message));
}

/**
 * Joins messages of the server into one text, with visible spaces. Each message begins with a capital
 * letter and, if there are several, ends with a punctuation mark.
 */
export function joinMessages(messages: readonly string[]): string {
  const capitalized = messages.map((message) => visibleSpaces(message.charAt(0).toUpperCase() + message.slice(1)));
  return capitalized.length === 1
    ? capitalized[0]!
    : capitalized.map((text) => (/[.!?]$/.test(text) ? text : `${text}.`)).join(' ');
}
