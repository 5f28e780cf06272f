import { toBase64Url } from '@countersign/core/domain/attestation';
import { noteVerifierKey, parseNoteVerifierKey } from '@countersign/core/domain/signed-note';
import { listedSuccessionFault } from '@countersign/core/domain/signing-key-succession';
import { isTrustFile } from '@countersign/core/domain/trust-file';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { verifyDecision } from '../index.ts';
import { sha256 } from '../verification/cryptography.ts';
import { wrongUse } from './exit-codes.ts';
import { readTextFile } from './files.ts';
import { readUuid } from './option-values.ts';
import type { Options } from './options.ts';
import { shortLine } from './plain-text.ts';
import type { Session } from './session.ts';
import { KEY_BYTES_MAX, readTrustFileInput, SUCCESSION_CHECKS, type TrustFileInput } from './trust-file-input.ts';

/** The options of every command that checks signatures. */
export const TRUST = {
  trust: {
    type: 'string',
    value: 'FILE',
    help: 'trust file of the workspace: its ID and public keys (countersign-server trust show); env:NAME reads a variable',
  },
  workspace: { type: 'string', value: 'UUID', help: 'the expected workspace; not needed with a trust file' },
} as const satisfies Options;

/** The values of the options `TRUST` and of --verify-key. */
export interface TrustOptions {
  'verify-key'?: string[] | undefined;
  trust?: string | undefined;
  workspace?: string | undefined;
}

/** The keys and the workspace by which decisions are verified. */
export interface TrustSettings {
  /**
   * Decision keys, 64 hex digits. They are shared secrets: their holders can forge decisions. Empty if there is a trust file. Not used if
   * there is a public key.
   */
  decisionKeys: string[];
  /** Public keys of the instance, as JWKs, including retired ones. With a trust file, only its keys and their proven successors. */
  publicKeys: PublicKey[];
  /** The public keys as text, in the form that the verification of a ledger needs. */
  publicText: string;
  /** ID of the workspace; undefined if neither an option nor a file names one. */
  workspace: string | undefined;
  /** The trust file; undefined if none was given. */
  trustFile: TrustFileInput | undefined;
}

interface PublicKey {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  retired_at?: string | undefined;
}

/**
 * Reads --workspace, --trust and --verify-key, and the environment variables of --trust and --verify-key. With a trust file, only its keys
 * count: --verify-key is a usage error, and the variables of --verify-key are ignored with a warning. A key file contains decision keys (64
 * hex digits per line), verifier keys (one per line), or a JWKS. `env:NAME` reads a variable; a verifier key is public, so the option may
 * contain it directly.
 */
export function readTrustSettings(session: Session, options: TrustOptions): TrustSettings {
  const texts = (options['verify-key'] ?? []).map((each) => readKeyText(session, each));
  const trustFile = readTrustFileInput(session, options.trust);
  const workspace = options.workspace === undefined ? undefined : readUuid('--workspace', options.workspace);
  if (trustFile !== undefined) {
    requireNoOtherTrust(trustFile, texts, workspace);
    warnOfIgnoredKeys(session, trustFile);
    return trustFileSettings(trustFile);
  }
  const trustSettings: TrustSettings = { decisionKeys: [], publicKeys: [], publicText: '', workspace, trustFile };
  for (const { source, text } of [...texts, ...readKeysFromEnvironment(session)]) addKeys(session, source, text, trustSettings);
  return trustSettings;
}

/** Throws a CommandError if --verify-key is given, or if --workspace differs from the workspace of the trust file. */
function requireNoOtherTrust(
  { source, workspace }: TrustFileInput,
  texts: readonly KeyText[],
  expected: string | undefined,
): void {
  if (texts.length > 0)
    throw wrongUse(
      `--verify-key cannot be combined with a trust file (${source}), ` +
        `because only the keys of the file count; give only the trust file or only --verify-key`,
    );
  if (expected !== undefined && workspace.id !== expected)
    throw wrongUse(
      `${source} is of workspace ${workspace.id}, and --workspace is ${expected}; give only the trust file or only --workspace`,
    );
}

/** The variables of --verify-key: the path of a file, and the text of a key. */
const KEY_FILE_VARIABLE = 'COUNTERSIGN_VERIFY_KEY_FILE';
const KEY_VARIABLE = 'COUNTERSIGN_VERIFY_KEY';

/** Variables are often set without a review. So if there is a trust file, keys in variables are not trusted. */
function warnOfIgnoredKeys(session: Session, { source }: TrustFileInput): void {
  const names = [KEY_FILE_VARIABLE, KEY_VARIABLE].filter((name) => session.variable(name) !== undefined);
  if (names.length === 0) return;
  const subject = names.length === 1 ? `${names[0]} is` : `${names.join(' and ')} are`;
  session.writeToStderr(
    `warning: ${subject} ignored, because only the keys of the trust file (${shortLine(source, 300)}) count.`,
  );
}

const trustFileSettings = (trustFile: TrustFileInput): TrustSettings => ({
  decisionKeys: [],
  publicKeys: publicKeysOf(trustFile),
  publicText: trustFile.keys.map(({ noteKey }) => noteVerifierKey(noteKey, sha256)).join('\n'),
  workspace: trustFile.workspace.id,
  trustFile,
});

const publicKeysOf = ({ keys }: TrustFileInput): PublicKey[] =>
  keys.map(({ x, retiredAt }) => ({ kty: 'OKP', crv: 'Ed25519', x, retired_at: retiredAt }));

/** The settings with this trust file. Adds the keys of the file that are missing in `publicKeys`. */
export const withTrustFile = (trustSettings: TrustSettings, trustFile: TrustFileInput): TrustSettings => {
  const added = publicKeysOf(trustFile).filter(({ x }) => !trustSettings.publicKeys.some((key) => key.x === x));
  return { ...trustSettings, trustFile, publicKeys: [...trustSettings.publicKeys, ...added] };
};

/** Whether there is a key to check signatures with. */
export const hasKeys = ({ decisionKeys, publicKeys }: TrustSettings): boolean => decisionKeys.length + publicKeys.length > 0;

/** Throws a CommandError for public keys without a workspace, because all workspaces of the instance have the same public keys. */
export function requireWorkspace({ publicKeys, workspace }: TrustSettings): void {
  if (publicKeys.length > 0 && workspace === undefined)
    throw wrongUse(
      'a public key is the same for every workspace of the instance; give --trust FILE, which names the ' +
        'workspace (countersign-server trust show --workspace NAME > FILE), or --workspace UUID with the key',
    );
}

/** Why a decision is not of the expected workspace; undefined if it is, or if none is expected. */
export function workspaceFault(decision: { tenant_id?: unknown }, { workspace }: TrustSettings): string | undefined {
  const { tenant_id: tenantId } = decision;
  if (workspace === undefined || tenantId === workspace) return undefined;
  if (tenantId === undefined)
    return `the decision names no workspace, but ${workspace} is expected: an older server made the decision; update the server`;
  return `the decision is of workspace ${String(tenantId)}, not of ${workspace}`;
}

interface KeyText {
  source: string;
  text: string;
}

function readKeyText(session: Session, value: string, option = '--verify-key'): KeyText {
  if (/^[0-9a-f]{64}$/i.test(value)) {
    session.redaction.add(value);
    throw wrongUse(
      option === '--verify-key'
        ? '--verify-key takes a file (or env:NAME), never the decision key itself, ' +
            'because other users can read the command line; rotate the key'
        : `${option} takes the path of a file; set COUNTERSIGN_VERIFY_KEY to the key itself`,
    );
  }
  if (parseNoteVerifierKey(value, sha256) !== undefined) return { source: option, text: value };
  if (value.startsWith('env:')) return { source: value.slice(4), text: session.terminal.environment[value.slice(4)] ?? '' };
  return { source: value, text: readTextFile(value, KEY_BYTES_MAX) };
}

function readKeysFromEnvironment(session: Session): KeyText[] {
  const file = session.variable(KEY_FILE_VARIABLE);
  const text = session.variable(KEY_VARIABLE);
  return [
    ...(file === undefined ? [] : [readKeyText(session, file, KEY_FILE_VARIABLE)]),
    ...(text === undefined ? [] : [{ source: KEY_VARIABLE, text }]),
  ];
}

function addKeys(session: Session, source: string, text: string, trustSettings: TrustSettings): void {
  const lines = text.trim().startsWith('{')
    ? [text]
    : text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
  // An unset secret must not mean "nothing to check".
  if (lines.length === 0) throw wrongUse(`${source} contains no key: it is empty`);
  if (isTrustFile(text)) throw wrongUse(`${source} is a trust file; give it as --trust`);
  for (const line of lines) {
    if (/^[0-9a-f]{64}$/i.test(line)) {
      session.redaction.add(line);
      trustSettings.decisionKeys.push(line.toLowerCase());
    } else {
      const keys = trustedKeys(line, sha256);
      if (keys === undefined)
        throw wrongUse(
          `${source} contains an invalid key: give a decision key (64 hex digits), a verifier key (name+id+base64) or a JWKS`,
        );
      const fault = jwksFault(line);
      if (fault !== undefined) throw wrongUse(`${source} contradicts itself: ${fault}`);
      const retirementTimes = retirementTimesOf(line);
      for (const { publicKey } of keys) {
        const x = toBase64Url(publicKey);
        addPublicKey(trustSettings.publicKeys, { kty: 'OKP', crv: 'Ed25519', x, retired_at: retirementTimes.get(x) });
      }
      trustSettings.publicText = trustSettings.publicText === '' ? line : `${trustSettings.publicText}\n${line}`;
    }
  }
}

/** Adds a key unless another source has it. If one of the sources lists the key as retired, the key counts as retired. */
function addPublicKey(keys: PublicKey[], added: PublicKey): void {
  const knownKey = keys.find(({ x }) => x === added.x);
  if (knownKey === undefined) keys.push(added);
  else knownKey.retired_at ??= added.retired_at;
}

/** Why a JWKS is rejected: a key is listed twice, or not signed by its predecessor in the list. Undefined if it is accepted. */
const jwksFault = (text: string): string | undefined =>
  text.trim().startsWith('{')
    ? listedSuccessionFault((JSON.parse(text) as { keys: unknown[] }).keys, SUCCESSION_CHECKS)
    : undefined;

/** When the keys of a JWKS were retired. */
function retirementTimesOf(text: string): Map<string, string> {
  if (!text.trim().startsWith('{')) return new Map();
  const { keys } = JSON.parse(text) as { keys: { x: string; retired_at?: string }[] };
  return new Map(keys.flatMap(({ x, retired_at: end }) => (typeof end === 'string' ? [[x, end]] : [])));
}

/** The key that verified a decision, or why it was rejected. */
export type SignatureResult = { by: string } | { fault: string };

/**
 * Verifies the original text of a decision: by its attestation if there is a public key, otherwise by a decision key. If there is a
 * public key, a decision key is not used, because its holders can forge decisions.
 */
export function checkSignature(
  text: string,
  attestation: string | undefined,
  { decisionKeys, publicKeys }: TrustSettings,
): SignatureResult {
  if (publicKeys.length > 0) return checkAttestation(text, attestation, publicKeys);
  const verdict = verifyDecision(text, { decisionKey: decisionKeys });
  return verdict.ok ? { by: `decision key ${memberOf(text, 'key_id')}` } : { fault: verdict.fault };
}

function checkAttestation(text: string, header: string | undefined, publicKeys: readonly PublicKey[]): SignatureResult {
  if (header === undefined)
    return {
      fault: 'the response has no attestation (header Countersign-Attestation), so it cannot be verified with a public key',
    };
  const verdict = verifyDecision(text, { publicKeys: { keys: publicKeys }, attestation: header });
  return verdict.ok ? { by: 'the public key of the instance' } : { fault: `the attestation is not valid: ${verdict.fault}` };
}

const memberOf = (text: string, name: string): unknown => (JSON.parse(text) as Record<string, unknown>)[name];
