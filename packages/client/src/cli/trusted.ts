import { toBase64Url } from '@countersign/core/domain/attestation';
import { noteVerifierKey, parseNoteVerifierKey } from '@countersign/core/domain/signed-note';
import { listedSuccessionFault } from '@countersign/core/domain/signing-key-succession';
import { isTrustFile } from '@countersign/core/domain/trust-file';
import { trustedKeys } from '@countersign/core/domain/trusted-keys';
import { verifyDecision } from '../index.ts';
import { sha256 } from '../verification/cryptography.ts';
import { wrongUse } from './exit-codes.ts';
import { readFile } from './files.ts';
import type { Options } from './options.ts';
import { readUuid } from './readings.ts';
import type { Session } from './session.ts';
import { KEY_BYTES_MAX, readTrustGiven, SUCCESSION_CHECKS, type TrustGiven } from './trust-given.ts';

/** The options of every command that checks signatures. */
export const TRUST = {
  trust: {
    type: 'string',
    value: 'FILE',
    help: 'trust file of the workspace: its id and the public keys (countersign-server trust show); env:NAME for a variable',
  },
  workspace: { type: 'string', value: 'UUID', help: 'the workspace that it must be of; a trust file names it already' },
} as const satisfies Options;

/** What was given of those, and of --verify-key. */
export interface TrustOptions {
  'verify-key'?: string[] | undefined;
  trust?: string | undefined;
  workspace?: string | undefined;
}

/** By what decisions are believed: keys, and the workspace that they must be of. */
export interface Trusted {
  /** Decision keys, 64 hex digits: shared secrets, for whoever has one can forge. */
  decisionKeys: string[];
  /** Public keys of the instance, as JWKs; ended ones with their end. */
  publicKeys: PublicKey[];
  /** The text of the public keys, as verifying a ledger takes it. */
  publicText: string;
  /** Id of the workspace; undefined if nothing that was given names one. */
  workspace: string | undefined;
  /** The trust file; undefined if none was given. */
  trustFile: TrustGiven | undefined;
}

interface PublicKey {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  retired_at?: string | undefined;
}

/**
 * What --trust, --verify-key, --workspace and the environment give. Keys are files that hold decision keys (64 hex digits a line), verifier
 * keys (a line), or a JWKS; `env:NAME` for a variable; a verifier key may stand in the line itself, for it is public.
 */
export function readTrusted(session: Session, options: TrustOptions): Trusted {
  const texts = [...(options['verify-key'] ?? []).map((each) => textOf(session, each)), ...fromEnvironment(session)];
  const trustFile = readTrustGiven(session, options.trust);
  const workspace = options.workspace === undefined ? undefined : readUuid('--workspace', options.workspace);
  if (workspace !== undefined && trustFile !== undefined && trustFile.workspace.id !== workspace)
    throw wrongUse(
      `${trustFile.source} is of workspace ${trustFile.workspace.id}, and --workspace is ${workspace}; give one of the two`,
    );
  const trusted: Trusted = {
    decisionKeys: [],
    publicKeys: [],
    publicText: '',
    workspace: trustFile?.workspace.id ?? workspace,
    trustFile,
  };
  if (trustFile !== undefined) {
    trusted.publicKeys.push(...publicKeysOf(trustFile));
    trusted.publicText = trustFile.keys.map(({ noteKey }) => noteVerifierKey(noteKey, sha256)).join('\n');
  }
  for (const { source, text } of texts) read(session, source, text, trusted);
  return trusted;
}

const publicKeysOf = ({ keys }: TrustGiven): PublicKey[] =>
  keys.map(({ x, retiredAt }) => ({ kty: 'OKP', crv: 'Ed25519', x, retired_at: retiredAt }));

/** The same with a trust file that has more keys. */
export const withTrustFile = (trusted: Trusted, trustFile: TrustGiven): Trusted => {
  const added = publicKeysOf(trustFile).filter(({ x }) => !trusted.publicKeys.some((key) => key.x === x));
  return { ...trusted, trustFile, publicKeys: [...trusted.publicKeys, ...added] };
};

/** Whether there is a key to check signatures with. */
export const hasKeys = ({ decisionKeys, publicKeys }: Trusted): boolean => decisionKeys.length + publicKeys.length > 0;

/** Refuses public keys without a workspace: they are the instance's, and so every workspace's. */
export function requireWorkspace({ publicKeys, workspace }: Trusted): void {
  if (publicKeys.length > 0 && workspace === undefined)
    throw wrongUse(
      'a public key is the same for every workspace of the instance; give --trust FILE, which names the workspace (countersign-server trust show --workspace NAME > FILE), or --workspace UUID besides the key',
    );
}

/** Why a decision is not of the workspace that it must be of; undefined if it is, or if none was demanded. */
export function workspaceFault(decision: { tenant_id?: unknown }, { workspace }: Trusted): string | undefined {
  const { tenant_id: named } = decision;
  if (workspace === undefined || named === workspace) return undefined;
  if (named === undefined)
    return `the decision names no workspace, and ${workspace} is demanded: it was made by an older server, which must be updated`;
  return `the decision is of workspace ${String(named)}, not of ${workspace}`;
}

interface Given {
  source: string;
  text: string;
}

function textOf(session: Session, given: string): Given {
  if (/^[0-9a-f]{64}$/i.test(given)) {
    session.redaction.add(given);
    throw wrongUse(
      '--verify-key takes a file (or env:NAME), never the decision key itself: the command line is no place for a secret; rotate the key',
    );
  }
  if (parseNoteVerifierKey(given, sha256) !== undefined) return { source: '--verify-key', text: given };
  if (given.startsWith('env:')) return { source: given.slice(4), text: session.terminal.environment[given.slice(4)] ?? '' };
  return { source: given, text: Buffer.from(readFile(given, KEY_BYTES_MAX)).toString('utf8') };
}

function fromEnvironment(session: Session): Given[] {
  const file = session.variable('COUNTERSIGN_VERIFY_KEY_FILE');
  const text = session.variable('COUNTERSIGN_VERIFY_KEY');
  return [
    ...(file === undefined ? [] : [textOf(session, file)]),
    ...(text === undefined ? [] : [{ source: 'COUNTERSIGN_VERIFY_KEY', text }]),
  ];
}

function read(session: Session, source: string, text: string, trusted: Trusted): void {
  const lines = text.trim().startsWith('{')
    ? [text]
    : text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
  // An unset secret must not pass as "nothing to check".
  if (lines.length === 0) throw wrongUse(`${source} holds no key: it is empty`);
  if (isTrustFile(text)) throw wrongUse(`${source} is a trust file; give it as --trust`);
  for (const line of lines) {
    if (/^[0-9a-f]{64}$/i.test(line)) {
      session.redaction.add(line);
      trusted.decisionKeys.push(line.toLowerCase());
    } else {
      const keys = trustedKeys(line, sha256);
      if (keys === undefined)
        throw wrongUse(
          `${source} holds something that is no key: a decision key is 64 hex digits, a verifier key is name+id+base64, or give a JWKS`,
        );
      const fault = listedFault(line);
      if (fault !== undefined) throw wrongUse(`${source} contradicts itself: ${fault}`);
      const ended = endsOf(line);
      for (const { publicKey } of keys) {
        const x = toBase64Url(publicKey);
        trusted.publicKeys.push({ kty: 'OKP', crv: 'Ed25519', x, retired_at: ended.get(x) });
      }
      trusted.publicText = trusted.publicText === '' ? line : `${trusted.publicText}\n${line}`;
    }
  }
}

/** Why a JWKS is not to be believed: a key names a predecessor in it that has not signed for it. */
const listedFault = (text: string): string | undefined =>
  text.trim().startsWith('{')
    ? listedSuccessionFault((JSON.parse(text) as { keys: unknown[] }).keys, SUCCESSION_CHECKS)
    : undefined;

/** When the keys of a JWKS ended. */
function endsOf(text: string): Map<string, string> {
  if (!text.trim().startsWith('{')) return new Map();
  const { keys } = JSON.parse(text) as { keys: { x: string; retired_at?: string }[] };
  return new Map(keys.flatMap(({ x, retired_at: end }) => (typeof end === 'string' ? [[x, end]] : [])));
}

/** What a decision was checked by, or why it is not to be believed. */
export type Trust = { by: string } | { fault: string };

/** Checks a decision, as the text that came, by a decision key or by the attestation that came with it. */
export function checkSignature(text: string, attestation: string | undefined, { decisionKeys, publicKeys }: Trusted): Trust {
  const faults: string[] = [];
  if (decisionKeys.length > 0) {
    const verdict = verifyDecision(text, { decisionKey: decisionKeys });
    if (verdict.ok) return { by: `decision key ${memberOf(text, 'key_id')}` };
    faults.push(verdict.fault);
  }
  if (publicKeys.length > 0) {
    const verdict = checkAttestation(text, attestation, publicKeys);
    if ('by' in verdict) return verdict;
    faults.push(verdict.fault);
  }
  return { fault: faults.join('; ') };
}

function checkAttestation(text: string, header: string | undefined, publicKeys: readonly PublicKey[]): Trust {
  if (header === undefined)
    return { fault: 'the answer bears no attestation (Countersign-Attestation), which the public key needs' };
  const keys = liveAt(String(memberOf(text, 'timestamp')), publicKeys);
  if (keys.length === 0) return { fault: 'every public key given had ended before this decision' };
  const verdict = verifyDecision(text, { publicKeys: { keys }, attestation: header });
  return verdict.ok ? { by: 'the public key of the instance' } : { fault: `the attestation: ${verdict.fault}` };
}

/** The keys that had not ended at a moment. */
export const liveAt = (timestamp: string, keys: readonly PublicKey[]): PublicKey[] =>
  keys.filter(({ retired_at: end }) => end === undefined || Date.parse(end) >= Date.parse(timestamp));

const memberOf = (text: string, name: string): unknown => (JSON.parse(text) as Record<string, unknown>)[name];
