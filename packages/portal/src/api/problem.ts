import type { ErrorBody } from '@countersign/core/contract/errors';

/** One wrong place of a form: the field's name as the contract has it, and what to do. */
export interface FieldIssue {
  /** JSON Pointer of the place. */
  path: string;
  code: string;
  message: string;
}

/** What went wrong with a call, in the words of the page. `kind` is what a page acts on. */
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
    | 'server';
  /** 0 where no answer came. */
  readonly status: number;
  readonly code: string;
  readonly issues: readonly FieldIssue[];
  readonly requestId: string | undefined;

  constructor(
    status: number,
    code: string,
    issues: readonly FieldIssue[] = [],
    more: { requestId?: string; waitSeconds?: number } = {},
  ) {
    super(sentence(status, code, issues, more.waitSeconds));
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.issues = issues;
    this.requestId = more.requestId;
    this.kind = kindOf(status, code);
  }

  /** Whether the same call may well succeed a little later. */
  get passing(): boolean {
    return this.kind === 'lost' || this.kind === 'server' || this.kind === 'limited';
  }
}

/** The problem that an answer tells, whatever its body is. */
export async function readProblem(response: Response): Promise<Problem> {
  const requestId = response.headers.get('x-request-id');
  const waitSeconds = Number(response.headers.get('retry-after'));
  const more = { ...(requestId === null ? {} : { requestId }), ...(waitSeconds > 0 ? { waitSeconds } : {}) };
  try {
    const { error, issues } = (await response.json()) as ErrorBody;
    return new Problem(response.status, String(error), Array.isArray(issues) ? issues : [], more);
  } catch {
    return new Problem(response.status, 'unreadable', [], more);
  }
}

/** Whatever was thrown, as a problem that can be shown. */
export const toProblem = (error: unknown): Problem => (error instanceof Problem ? error : new Problem(0, 'page_fault'));

function kindOf(status: number, code: string): Problem['kind'] {
  if (status === 0 || status === 502 || status === 504) return 'lost';
  if (status === 401) return code === 'sign_in_failed' ? 'wrong-password' : 'signed-out';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'missing';
  if (status === 409) return 'conflict';
  if (status === 410) return 'gone';
  if (status === 429) return 'limited';
  return status >= 500 ? 'server' : 'invalid';
}

const MESSAGES: Record<Problem['kind'], string> = {
  lost: 'The server does not answer. Nothing you typed is lost; try again when the connection is back.',
  'signed-out': 'You are signed out. Sign in again in another tab, then send this once more: nothing you typed is lost.',
  'wrong-password': 'E-mail address and password do not belong together.',
  forbidden: 'Your role in this workspace does not allow this. An admin of the workspace can change it.',
  missing: 'There is nothing here: it was never there, or it belongs to another workspace.',
  gone: 'This link has been used, has expired, or was never given out. Ask for a new one.',
  invalid: 'The server did not take this.',
  conflict: 'Somebody else was faster: this is no longer as you saw it. Close this and look again.',
  limited: 'Too many requests in a short time. Wait a moment and try again.',
  server: 'The server could not do this. Nothing was stored; try again.',
};

const relative = new Intl.RelativeTimeFormat('en');

/** `in 40 seconds`, `in 15 minutes`: never shorter than it is. */
const ahead = (seconds: number): string =>
  seconds <= 90 ? relative.format(Math.ceil(seconds), 'second') : relative.format(Math.ceil(seconds / 60), 'minute');

/** An issue that points at no field says more than the kind alone. */
function sentence(status: number, code: string, issues: readonly FieldIssue[], waitSeconds?: number): string {
  if (code === 'page_fault') return 'This page has made a mistake. Reload it; if it happens again, tell your administrator.';
  if (kindOf(status, code) === 'limited' && waitSeconds !== undefined)
    return `Too many requests in a short time. Try again ${ahead(waitSeconds)}.`;
  const said = issues.map(({ message }) => message).join(' ');
  return said === '' ? MESSAGES[kindOf(status, code)] : said.charAt(0).toUpperCase() + said.slice(1);
}
