import { toBase64Url } from './attestation.ts';
import { parseLine } from './export-line.ts';
import type { NoteKey } from './signed-note.ts';
import { followSuccessors, listedSuccessionFault, type SuccessionChecks } from './signing-key-succession.ts';
import { trustedKeys } from './trusted-keys.ts';

/**
 * The trust file (docs/formats.md, "Trust file"), by which a gate verifies decisions. It names the workspace and the instance's public
 * keys. A file can also have `successors`: JWKs of later keys, which must be proven by live keys of the file. Readers ignore unknown
 * members.
 */
export interface TrustFile {
  version: 1;
  workspace: { id: string; name: string };
  /** The address of the service. It is a hint that no reader verifies, because a gate may use a proxy. */
  url: string;
  /** JWKs with `note_key`; a retired key has `retired_at`. */
  keys: readonly object[];
}

/** Returns the text of a trust file. */
export const trustFileText = (file: Omit<TrustFile, 'version'>): string => {
  const { workspace, url, keys } = file;
  return `${JSON.stringify({ version: 1, workspace, url, keys }, null, 2)}\n`;
};

/** The parsed content of a trust file. */
export interface TrustFileContent {
  workspace: { id: string; name: string };
  /** The keys in `keys`, then the keys in `successors`. Each successor follows its predecessor. */
  keys: TrustFileKey[];
}

/** A public key of the file. */
export interface TrustFileKey {
  noteKey: NoteKey;
  /** The 32 bytes of the public key, in base64url. */
  x: string;
  /** When the key was retired; undefined while it is live. */
  retiredAt: string | undefined;
}

/** Whether a text is a trust file and not a JWKS: it has the member `version`. Its other members are not checked. */
export const isTrustFile = (text: string): boolean => {
  const parsed = parseLine(text);
  return 'value' in parsed && typeof parsed.value === 'object' && parsed.value !== null && 'version' in parsed.value;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Parses and verifies a trust file. A fault is the rest of a sentence that starts with the file's name. */
export function readTrustFile(text: string, checks: SuccessionChecks): TrustFileContent | { fault: string } {
  if (text.trim() === '') return { fault: 'is not a trust file: it is empty' };
  const parsed = parseLine(text, 'it');
  if ('fault' in parsed) return { fault: `is not a trust file: ${parsed.fault}` };
  const value = parsed.value;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: 'is not a trust file: it is not a JSON object' };
  const { version, workspace, keys, successors } = value as Record<string, unknown>;
  if (version === undefined && workspace === undefined && keys !== undefined)
    return {
      fault: 'is a JWKS, which names no workspace: give it as --verify-key together with --workspace, or make a trust file',
    };
  if (version === undefined) return { fault: 'is not a trust file: it has no `version`' };
  if (version !== 1)
    return {
      fault:
        `is not a trust file of version 1: it has version ${JSON.stringify(version)}; ` +
        'if the file is newer than this command, update the command',
    };
  const trustedWorkspace = readWorkspace(workspace);
  if (trustedWorkspace === undefined) return { fault: 'is not a trust file: `workspace` has no UUID as `id`, or no `name`' };
  const content = readKeys(keys, trustedWorkspace, checks);
  return 'fault' in content ? content : withSuccessors(content, successors, checks);
}

/** Adds the keys of `successors`. Returns a fault unless a chain of signatures from a live key of `keys` proves each of them. */
function withSuccessors(
  content: TrustFileContent,
  successors: unknown,
  checks: SuccessionChecks,
): TrustFileContent | { fault: string } {
  if (successors === undefined) return content;
  if (!Array.isArray(successors)) return { fault: 'is not a trust file: `successors` is not an array' };
  if (successors.length > 0 && trustedKeys(JSON.stringify({ keys: successors }), checks.sha256)?.length !== successors.length)
    return { fault: 'is not a trust file: `successors` contains an element that is not an Ed25519 JWK with `note_key`' };
  const { proven, unproven } = followSuccessors(liveKeys(content), successors, checks);
  if (unproven.length > 0) return { fault: `has a successor that is not proven: ${unproven[0]!.fault}` };
  return { ...content, keys: [...content.keys, ...proven] };
}

/** Returns the live keys of a trust file. Only these can prove successors. */
export const liveKeys = ({ keys }: TrustFileContent): NoteKey[] =>
  keys.filter(({ retiredAt }) => retiredAt === undefined).map(({ noteKey }) => noteKey);

function readWorkspace(value: unknown): TrustFileContent['workspace'] | undefined {
  const { id, name } = (value ?? {}) as Record<string, unknown>;
  return typeof id === 'string' && UUID.test(id) && typeof name === 'string' && name !== '' ? { id, name } : undefined;
}

function readKeys(
  jwks: unknown,
  workspace: TrustFileContent['workspace'],
  checks: SuccessionChecks,
): TrustFileContent | { fault: string } {
  if (!Array.isArray(jwks) || jwks.length === 0) return { fault: 'is not a trust file: it has no key in `keys`' };
  const noteKeys = trustedKeys(JSON.stringify({ keys: jwks }), checks.sha256);
  if (noteKeys === undefined || noteKeys.length !== jwks.length)
    return { fault: 'is not a trust file: `keys` contains an element that is not an Ed25519 JWK with `note_key`' };
  const fault = listedSuccessionFault(jwks, checks);
  if (fault !== undefined) return { fault: `contradicts itself: ${fault}` };
  const retirements = new Map(jwks.map((jwk: { x?: unknown; retired_at?: unknown }) => [jwk.x, jwk.retired_at]));
  const keys = noteKeys.map((noteKey): TrustFileKey => {
    const x = toBase64Url(noteKey.publicKey);
    const retiredAt = retirements.get(x);
    return { noteKey, x, retiredAt: retiredAt === undefined ? undefined : String(retiredAt) };
  });
  if (keys.every(({ retiredAt }) => retiredAt !== undefined))
    return { fault: `has no live key: every key in it is retired; renew the file (${renewCommand(workspace.name)})` };
  return { workspace, keys };
}

/** Returns the command that prints the current trust file of a workspace. */
export const renewCommand = (name: string): string => `countersign-server trust show --workspace ${quoteWord(name)}`;

/** Quotes a name for a shell. */
const quoteWord = (name: string): string => (/^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`);
