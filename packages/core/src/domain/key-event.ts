import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import type { Digests } from './digests.ts';
import { type LogPosition, positionFault } from './log-position.ts';
import { isHash, isInstant, isRecordedBy, isUuid, orNull } from './member-forms.ts';

/** Prefix of the hashed text: the kind and version, so that texts of other kinds have other hashes (docs/formats.md, "Key event"). */
export const KEY_EVENT_DOMAIN = 'countersign/key-event/v2\n';

/** One event of the key audit trail. The hash covers all of it. */
export interface KeyEvent {
  version: 2;
  tenant_id: string;
  /** Starts at 1, without gaps. */
  seq: number;
  id: string;
  /** UTC with milliseconds. */
  recorded_at: string;
  recorded_by: string;
  action: 'minted' | 'rotated' | 'revoked' | 'scopes_changed';
  key_id: string;
  /** Whether the key is an ingestion key or a read token. */
  kind: 'live' | 'read';
  /** Twelve hex digits. */
  prefix: string;
  name: string;
  scopes: readonly string[];
  /** UTC with milliseconds; null for a key that does not expire. */
  expires_at: string | null;
  /** SHA-256, hex, of the stored hash of the key's secret. It commits to the secret without revealing it. */
  credential_sha256: string;
}

/**
 * Returns the canonical text and the hash of an event. The hash is its leaf data.
 * @throws NotCanonicalError if the event has no canonical form
 */
export function hashKeyEvent(event: KeyEvent, digests: Pick<Digests, 'sha256Hex'>): { canonical: string; hash: string } {
  const canonical = canonicalJson(event);
  return { canonical, hash: digests.sha256Hex(KEY_EVENT_DOMAIN + canonical) };
}

/** Checks the next event of a trail. Returns it with its canonical text and hash, or its fault. The event is untrusted. */
export function readKeyEvent(
  value: unknown,
  expected: LogPosition,
  digests: Pick<Digests, 'sha256Hex'>,
): { event: KeyEvent; canonical: string; hash: string } | { fault: string } {
  const result = checkKeyEvent(value, expected);
  if ('fault' in result) return result;
  const { event } = result;
  try {
    return { event, ...hashKeyEvent(event, digests) };
  } catch (error) {
    if (error instanceof NotCanonicalError) return { fault: `the event has no canonical form: ${error.message}` };
    throw error;
  }
}

/** Like readKeyEvent, but does not compute the canonical text and the hash. */
export function checkKeyEvent(value: unknown, expected: LogPosition): { event: KeyEvent } | { fault: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fault: 'the event is not an object' };
  const event = value as KeyEvent;
  if (event.version !== 2) return { fault: `version ${JSON.stringify(event.version)} is not known to this verifier` };
  const fault = memberFault(value as Record<string, unknown>);
  if (fault !== undefined) return { fault };
  const misplaced = positionFault(event, expected);
  return misplaced === undefined ? { event } : { fault: misplaced };
}

type Form = (value: unknown) => boolean;
const isText: Form = (value) => typeof value === 'string';
const isPrefix: Form = (value) => typeof value === 'string' && /^[0-9a-f]{12}$/.test(value);
const ACTIONS: readonly unknown[] = ['minted', 'rotated', 'revoked', 'scopes_changed'];

/** All members of an event and their forms. */
const MEMBERS: Readonly<Record<keyof KeyEvent, Form>> = {
  version: (value) => value === 2,
  tenant_id: isUuid,
  seq: (value) => Number.isSafeInteger(value),
  id: isUuid,
  recorded_at: isInstant,
  recorded_by: isRecordedBy,
  action: (value) => ACTIONS.includes(value),
  key_id: isUuid,
  kind: (value) => value === 'live' || value === 'read',
  prefix: isPrefix,
  name: isText,
  scopes: (value) => Array.isArray(value) && value.every(isText),
  credential_sha256: isHash,
  expires_at: orNull(isInstant),
};

function memberFault(event: Readonly<Record<string, unknown>>): string | undefined {
  const unknown = Object.keys(event).find((name) => !Object.hasOwn(MEMBERS, name));
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is not a member of a key event`;
  for (const [name, isOfForm] of Object.entries(MEMBERS)) {
    if (!Object.hasOwn(event, name)) return `the member ${name} is missing`;
    if (!isOfForm(event[name])) return `the member ${name} of the key event is malformed`;
  }
  return undefined;
}
