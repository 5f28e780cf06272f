import { renewCommand } from '@countersign/core/domain/trust-file';
import { readText } from '../http/read-text.ts';
import type { Diagnosis } from './diagnose-service.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';
import { askForSuccessors } from './trust-file-input.ts';
import type { TrustSettings } from './trust-settings.ts';

const what = 'verify key';

/**
 * Whether one of the given public keys, or a proven successor of a key of the trust file, signs for this service now. The service itself
 * provides the list of its keys, so the check detects a wrong file but not a fake service. A decision key is a shared secret, so it cannot
 * be compared.
 */
export async function diagnoseVerifyKey(
  session: Session,
  address: string,
  { publicKeys, decisionKeys, trustFile }: TrustSettings,
  timeoutMs: number,
): Promise<Diagnosis> {
  if (publicKeys.length === 0)
    return {
      what,
      ok: null,
      says: `readable; only a decision shows whether this service uses ${decisionKeys.length === 1 ? 'this key' : 'one of these keys'}`,
    };
  const live = await liveKeys(session.terminal, address, timeoutMs);
  if (live === undefined)
    return { what, ok: null, says: 'readable, but not compared: this service returned no list of its keys' };
  if (publicKeys.some(({ x }) => live.has(x))) return { what, ok: true, says: 'matches a signing key of this service' };
  const extendedFile = trustFile === undefined ? undefined : (await askForSuccessors(session, address, trustFile)).trustFile;
  if (extendedFile?.keys.some(({ x }) => live.has(x)) === true)
    return {
      what,
      ok: null,
      says:
        'the key of the trust file was retired, but the current key is its proven successor, ' +
        'so the gate accepts decisions of this service',
      remedy: `renew the file: \`${renewCommand(extendedFile.workspace.name)}\` on the server`,
    };
  return {
    what,
    ok: false,
    says: 'matches no current signing key of this service: the key was retired, or is of another instance',
    remedy:
      'get the current trust file from the operator (`countersign-server trust show --workspace NAME`), not from this address',
  };
}

/** The public keys that sign now; undefined if the list of the service cannot be read. */
async function liveKeys(terminal: Terminal, address: string, timeoutMs: number): Promise<Set<string> | undefined> {
  try {
    const url = `${address}/.well-known/jwks.json`;
    const response = await terminal.fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { keys } = JSON.parse(await readText(response, url)) as { keys: { x: string; retired_at?: string }[] };
    return new Set(keys.filter(({ retired_at: end }) => end === undefined).map(({ x }) => x));
  } catch {
    return undefined;
  }
}
