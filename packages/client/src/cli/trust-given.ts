import { readTrustFile, renewal, type TrustFileContent } from '@countersign/core/domain/trust-file';
import { sha256 } from '../verification/cryptography.ts';
import { wrongUse } from './exit-codes.ts';
import { readFile } from './files.ts';
import type { Session } from './session.ts';

/** Most bytes of a file of keys. */
export const KEY_BYTES_MAX = 1024 * 1024;

/** A trust file, with where it came from. */
export interface TrustGiven extends TrustFileContent {
  /** The file's path, or the variable's name. */
  source: string;
}

/** The trust file of --trust, COUNTERSIGN_TRUST_FILE or COUNTERSIGN_TRUST (its text), the first that is given. */
export function readTrustGiven(session: Session, option: string | undefined): TrustGiven | undefined {
  const given = option ?? session.variable('COUNTERSIGN_TRUST_FILE') ?? inVariable(session, 'COUNTERSIGN_TRUST');
  if (given === undefined) return undefined;
  const name = given.startsWith('env:') ? given.slice(4) : undefined;
  const text =
    name === undefined
      ? Buffer.from(readFile(given, KEY_BYTES_MAX)).toString('utf8')
      : (session.terminal.environment[name] ?? '');
  const source = name ?? JSON.stringify(given);
  const content = readTrustFile(text, sha256);
  if ('fault' in content)
    throw wrongUse(`${source} ${content.fault}; \`countersign-server trust show --workspace NAME\` prints a trust file`);
  return { ...content, source };
}

const inVariable = (session: Session, name: string): string | undefined =>
  session.variable(name) === undefined ? undefined : `env:${name}`;

/** How long the service is asked for its keys. */
const HINT_TIMEOUT_MS = 5000;

/**
 * What is wrong with a trust file whose keys did not sign the answer, by the keys that the service publishes; undefined if they do not say.
 * It only words the refusal: nothing is believed for it.
 */
export async function trustFileProblem(session: Session, address: string, file: TrustGiven): Promise<string | undefined> {
  const published = await publishedKeys(session, address);
  const renew = `renew it with \`${renewal(file.workspace.name)}\` on the server, and not by this address`;
  const ended = published.find(({ x, retired_at: end }) => end !== undefined && file.keys.some((key) => key.x === x));
  if (ended !== undefined)
    return `the key of the trust file ${file.source} ended at ${ended.retired_at}, and a successor signs: ${renew}`;
  const instances = new Set(published.map(({ note_key: key = '' }) => key.split('+')[0]!));
  if (instances.size > 0 && file.keys.every(({ noteKey }) => !instances.has(noteKey.name)))
    return `the trust file is of another instance: ${file.source} is of ${file.keys[0]!.noteKey.name}, and the service says that it is ${[...instances].join(', ')}`;
  if (published.length > 0 && !published.some(({ x }) => file.keys.some((key) => key.x === x)))
    return `the service does not list the keys of the trust file ${file.source}: ${renew}`;
  return undefined;
}

interface PublishedKey {
  x: string;
  note_key?: string;
  retired_at?: string;
}

async function publishedKeys(session: Session, address: string): Promise<PublishedKey[]> {
  try {
    const answer = await session.terminal.fetch(`${address}/.well-known/jwks.json`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(HINT_TIMEOUT_MS),
    });
    const { keys } = (await answer.json()) as { keys: unknown[] };
    return keys.filter((key): key is PublishedKey => typeof (key as PublishedKey | null)?.x === 'string');
  } catch {
    return [];
  }
}
