import { readText } from '../http/read-text.ts';
import type { Diagnosis } from './diagnose-service.ts';
import type { Terminal } from './terminal.ts';

/** For each scope, a path that needs it. */
const PATHS: Record<string, string> = {
  telemetry: '/api/public/traces',
  evaluations: '/api/public/evaluations',
  audit: '/api/public/audit',
  governance: '/api/public/governance/promotion-check',
};

/** The scope to test, whether the key must have it, and the time limit of the request. */
export interface ScopeCheck {
  scope: string;
  isRequired: boolean;
  timeoutMs: number;
}

/**
 * Sends an empty object to test whether the key has a scope. The service checks key and scope before the body, and an empty object is
 * always invalid, so nothing is recorded or decided.
 */
export async function diagnoseScope(
  terminal: Terminal,
  address: string,
  key: string,
  { scope, isRequired, timeoutMs }: ScopeCheck,
): Promise<Diagnosis> {
  const what = `scope ${scope}`;
  try {
    const response = await terminal.fetch(address + PATHS[scope], {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { what, ...verdictOn(response.status, codeOf(await readText(response, address)), isRequired) };
  } catch (error) {
    return {
      what,
      ok: false,
      says: `no response: ${(error as Error).message}`,
      remedy: 'try again; the service responded a moment ago',
    };
  }
}

function verdictOn(status: number, code: string | undefined, isRequired: boolean): Omit<Diagnosis, 'what'> {
  if (status === 422 && code === 'validation_failed') return { ok: true, says: 'this key has the scope' };
  if (status === 401 && code === 'insufficient_scope')
    return isRequired
      ? {
          ok: false,
          says: 'the key is valid but lacks this scope',
          remedy: 'mint a key with this scope, or add the scope to this key (Administration, Ingestion keys)',
        }
      : { ok: null, says: 'this key lacks the scope' };
  if (code === 'unauthorized')
    return {
      ok: false,
      says: 'the service does not accept this key: it may be mistyped, revoked, rotated, expired or of another instance',
      remedy: 'mint a new key and set it as COUNTERSIGN_API_KEY',
    };
  if (code === 'wrong_host')
    return {
      ok: false,
      says: 'the server does not accept the host in this address',
      remedy: 'give an address with an accepted host, or ask the operator to add this host to COUNTERSIGN_ALLOWED_HOSTS',
    };
  if (status === 429) {
    const says = 'not checked: too many requests with this key';
    return isRequired ? { ok: false, says, remedy: 'try again in a minute' } : { ok: null, says };
  }
  return {
    ok: false,
    says: `unexpected response: ${status} ${code ?? ''}`.trim(),
    remedy:
      code === undefined
        ? 'check for a proxy between this machine and the service'
        : "try again; if the response stays the same, see the server's log",
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
