import type { Diagnosis } from './diagnose-service.ts';
import type { Terminal } from './terminal.ts';

/** A path of each scope. */
const PATHS: Record<string, string> = {
  telemetry: '/api/public/traces',
  evaluations: '/api/public/evaluations',
  audit: '/api/public/audit',
  governance: '/api/public/governance/promotion-check',
};

/** Which scope is tried, and whether the caller needs it. */
export interface ScopeQuestion {
  scope: string;
  wanted: boolean;
  timeoutMs: number;
}

/**
 * Whether the key has a scope. An empty object is sent: key and scope are checked before the body is read, and the body breaks every
 * contract, so that nothing is recorded and nothing decided.
 */
export async function diagnoseScope(
  terminal: Terminal,
  address: string,
  key: string,
  { scope, wanted, timeoutMs }: ScopeQuestion,
): Promise<Diagnosis> {
  const what = `scope ${scope}`;
  try {
    const answer = await terminal.fetch(address + PATHS[scope], {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { what, ...verdictOn(answer.status, codeOf(await answer.text()), wanted) };
  } catch (error) {
    return {
      what,
      ok: false,
      says: `no answer: ${(error as Error).message}`,
      remedy: 'try again; the service answered a moment ago',
    };
  }
}

function verdictOn(status: number, code: string | undefined, wanted: boolean): Omit<Diagnosis, 'what'> {
  if (status === 422 && code === 'validation_failed') return { ok: true, says: 'the key has it' };
  if (status === 401 && code === 'insufficient_scope')
    return wanted
      ? {
          ok: false,
          says: 'the key is good and has not this scope',
          remedy: 'mint a key that has it, or change the scopes of this one (Administration, Ingestion keys)',
        }
      : { ok: null, says: 'the key has it not' };
  if (status === 401)
    return {
      ok: false,
      says: 'the key is not known here: mistyped, revoked, rotated, ended, or of another instance',
      remedy: 'mint a new one, and put it where COUNTERSIGN_API_KEY comes from',
    };
  if (status === 429) return { ok: null, says: 'too many requests with this key; try again in a minute' };
  return {
    ok: false,
    says: `an unexpected answer: ${status} ${code ?? ''}`.trim(),
    remedy: 'something stands between this machine and the service',
  };
}

function codeOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
