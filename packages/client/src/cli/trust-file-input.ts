import { followSuccessors, type SuccessionChecks } from '@countersign/core/domain/signing-key-succession';
import { liveKeys, readTrustFile, renewCommand, type TrustFileContent } from '@countersign/core/domain/trust-file';
import { readText } from '../http/read-text.ts';
import { sha256, verifyEd25519 } from '../verification/cryptography.ts';
import { wrongUse } from './exit-codes.ts';
import { readTextFile } from './files.ts';
import type { Session } from './session.ts';

/** The largest file of keys, in bytes. */
export const KEY_BYTES_MAX = 1024 * 1024;

/** A trust file and its source. */
export interface TrustFileInput extends TrustFileContent {
  /** The path of the file in quotation marks, or the name of the variable. */
  source: string;
}

/** The cryptography for checking successors of signing keys. */
export const SUCCESSION_CHECKS: SuccessionChecks = { sha256, verify: verifyEd25519 };

/**
 * The trust file from the first of --trust, COUNTERSIGN_TRUST_FILE and COUNTERSIGN_TRUST that is set; undefined if none is set.
 * COUNTERSIGN_TRUST contains the text of the file, the others its path. Throws a CommandError if the file cannot be read or is not a valid
 * trust file.
 */
export function readTrustFileInput(session: Session, option: string | undefined): TrustFileInput | undefined {
  const location = option ?? session.variable('COUNTERSIGN_TRUST_FILE') ?? variableLocation(session, 'COUNTERSIGN_TRUST');
  if (location === undefined) return undefined;
  const name = location.startsWith('env:') ? location.slice(4) : undefined;
  const text = name === undefined ? readTextFile(location, KEY_BYTES_MAX) : (session.terminal.environment[name] ?? '');
  const source = name ?? JSON.stringify(location);
  const content = readTrustFile(text, SUCCESSION_CHECKS);
  if ('fault' in content)
    throw wrongUse(`${source} ${content.fault}; \`countersign-server trust show --workspace NAME\` prints a trust file`);
  return { ...content, source };
}

const variableLocation = (session: Session, name: string): string | undefined =>
  session.variable(name) === undefined ? undefined : `env:${name}`;

/** The time limit for reading the published keys. */
const PUBLISHED_KEYS_TIMEOUT_MS = 5000;

/** The result of comparing a trust file with the published keys of a service. */
export interface PublishedKeyResult {
  /** The trust file with proven successors of its keys; undefined if there are none. */
  trustFile: TrustFileInput | undefined;
  /**
   * Why no key of the file made the signature; undefined if the published keys do not show the reason. Published keys are not trusted, so
   * this text only explains a rejection.
   */
  problem: string | undefined;
}

/** Reads the published keys of a service. Adds those to the trust file that are proven successors of the file's live keys. */
export async function askForSuccessors(session: Session, address: string, file: TrustFileInput): Promise<PublishedKeyResult> {
  const listedKeys = await publishedKeys(session, address);
  const { proven, unproven } = followSuccessors(liveKeys(file), listedKeys, SUCCESSION_CHECKS);
  const trustFile = proven.length === 0 ? undefined : { ...file, keys: [...file.keys, ...proven] };
  const unprovenLiveKey = unproven.find(({ key: { retiredAt } }) => retiredAt === undefined);
  return { trustFile, problem: problemOf(listedKeys, file, unprovenLiveKey?.fault) };
}

function problemOf(
  listedKeys: readonly PublishedKey[],
  file: TrustFileInput,
  successionFault: string | undefined,
): string | undefined {
  const why = successionFault === undefined ? '' : ` (${successionFault})`;
  const renew = `renew the file with \`${renewCommand(file.workspace.name)}\` on the server, not from this address`;
  const instances = new Set(listedKeys.map(({ note_key: key = '' }) => key.split('+')[0]!));
  if (instances.size > 0 && file.keys.every(({ noteKey }) => !instances.has(noteKey.name)))
    return (
      `the trust file is of another instance: ${file.source} is of ${file.keys[0]!.noteKey.name}, ` +
      `but the service is ${[...instances].join(', ')}`
    );
  const retired = listedKeys.find(({ x, retired_at: end }) => end !== undefined && file.keys.some((key) => key.x === x));
  if (retired !== undefined)
    return (
      `the key of the trust file ${file.source} was retired at ${retired.retired_at}, ` +
      `and it did not sign the current key${why}: ${renew}`
    );
  if (listedKeys.length > 0 && !listedKeys.some(({ x }) => file.keys.some((key) => key.x === x)))
    return `the service does not list the keys of the trust file ${file.source}${why}: ${renew}`;
  return undefined;
}

interface PublishedKey {
  x: string;
  note_key?: string;
  retired_at?: string;
}

/** Whether a published key has the members that this module reads, with the right types. */
function isPublishedKey(key: unknown): key is PublishedKey {
  const { x, note_key, retired_at } = (key ?? {}) as Record<string, unknown>;
  return typeof x === 'string' && [note_key, retired_at].every((each) => each === undefined || typeof each === 'string');
}

async function publishedKeys(session: Session, address: string): Promise<PublishedKey[]> {
  try {
    const url = `${address}/.well-known/jwks.json`;
    const response = await session.terminal.fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(PUBLISHED_KEYS_TIMEOUT_MS),
    });
    const { keys } = JSON.parse(await readText(response, url)) as { keys: unknown[] };
    return keys.filter(isPublishedKey);
  } catch {
    return [];
  }
}
