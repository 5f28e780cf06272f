import { canonicalJson } from './canonical-json.ts';
import type { Digests } from './digests.ts';

/** The prefix that separates this hash from every other one and carries its version (docs/formats.md, "Key event"). */
const DOMAIN = 'countersign/key-event/v1\n';

/** One event of the key audit trail, all of it under its hash. */
export interface KeyEvent {
  version: 1;
  tenant_id: string;
  /** Starts at 1, without gaps. */
  seq: number;
  id: string;
  /** UTC with milliseconds. */
  recorded_at: string;
  recorded_by: string;
  action: 'minted' | 'rotated' | 'revoked' | 'scopes_changed';
  key_id: string;
  /** Twelve hex digits. */
  prefix: string;
  name: string;
  scopes: readonly string[];
  /** RFC 3339, or null for a key that does not expire. */
  expires_at: string | null;
}

/** The canonical text of an event, and its hash: the leaf data of the trail's tree. */
export function hashKeyEvent(event: KeyEvent, digests: Pick<Digests, 'sha256Hex'>): { canonical: string; hash: string } {
  const canonical = canonicalJson(event);
  return { canonical, hash: digests.sha256Hex(DOMAIN + canonical) };
}
