import type { Diagnosis } from './diagnose-service.ts';
import type { Terminal } from './terminal.ts';
import type { Trusted } from './trusted.ts';

const what = 'verify key';

/**
 * Whether the gate could believe this service: one of the public keys given must be one that signs here now. It is asked for by the same
 * address, so that this finds a wrong file and no forger. A decision key has no public half to compare.
 */
export async function diagnoseVerifyKey(
  terminal: Terminal,
  address: string,
  { publicKeys, decisionKeys }: Trusted,
  timeoutMs: number,
): Promise<Diagnosis> {
  if (publicKeys.length === 0)
    return {
      what,
      ok: null,
      says: `can be read; whether ${decisionKeys.length === 1 ? 'it signs' : 'they sign'} here shows with a decision`,
    };
  const live = await liveKeys(terminal, address, timeoutMs);
  if (live === undefined) return { what, ok: null, says: 'can be read; the service does not say which keys are its own' };
  if (publicKeys.some(({ x }) => live.has(x))) return { what, ok: true, says: 'is one that signs here' };
  return {
    what,
    ok: false,
    says: 'signs nothing here now: it has ended, or is of another instance',
    remedy: 'get the present one from the operator (`countersign-server trust show --workspace NAME`), not by this address',
  };
}

/** The public keys by which the service signs now; undefined when it does not say. */
async function liveKeys(terminal: Terminal, address: string, timeoutMs: number): Promise<Set<string> | undefined> {
  try {
    const answer = await terminal.fetch(`${address}/.well-known/jwks.json`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { keys } = (await answer.json()) as { keys: { x: string; retired_at?: string }[] };
    return new Set(keys.filter(({ retired_at: end }) => end === undefined).map(({ x }) => x));
  } catch {
    return undefined;
  }
}
