import { type Static, Type } from 'typebox';
import { count, dateTime, label, nullable, oneOf, optional, unboundedText, uuid } from '../contract/scalars.ts';
import { SCOPES, type Scope } from '../contract/scopes.ts';
import { filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** The kinds of keys. `live`: an ingestion key (`aa_live_`). `read`: a read token (`aa_read_`), which can only read. */
export const KEY_KINDS = ['live', 'read'] as const;
/** The permissions of keys: the scopes of ingestion keys, and `read`, the permission of read tokens. */
export const KEY_SCOPES = [...SCOPES, 'read'] as const;
/** The states of a key. Only an active key is accepted. */
export const KEY_STATES = ['active', 'revoked', 'expired'] as const;

const keyScopes = (description: string) =>
  Type.Unsafe<(Scope | 'read')[]>({ type: 'array', items: oneOf(KEY_SCOPES, { description: 'A scope.' }), description });

/** A key as admins see it. Its secret is not stored. */
export const Key = Type.Object({
  id: uuid({ description: 'ID of the key.' }),
  kind: oneOf(KEY_KINDS, { description: 'Ingestion key or read token.' }),
  prefix: label({ description: 'Twelve hex digits: the visible part of the key, after `aa_live_` or `aa_read_`.' }),
  name: label({ description: 'Its name: what the key is for.' }),
  scopes: keyScopes('What it may do.'),
  state: oneOf(KEY_STATES, { description: 'Its state; only an active key is accepted.' }),
  created_at: dateTime({ description: 'When it was minted.' }),
  rotated_at: nullable(dateTime({ description: 'When it got its current secret; null if it was never rotated.' })),
  expires_at: nullable(dateTime({ description: 'When it expires; null if it does not.' })),
  revoked_at: nullable(dateTime({ description: 'When it was revoked; null if it was not.' })),
  last_used_at: nullable(dateTime({ description: 'When it was last used, accurate to a minute; null if never.' })),
});
export type Key = Static<typeof Key>;

/** The name of a key, for pages that have only its prefix. */
export const KeyName = Type.Object({ name: label({ description: 'The current name of the key.' }) });

/** The text of a key. Only this response contains it. */
export const KeyText = Type.Object({
  key: unboundedText({ description: 'The whole key, shown only once.' }),
  prefix: label({ description: 'Twelve hex digits.' }),
});

/** A list of scopes, each at most once. */
const scopeList = (description: string) =>
  Type.Unsafe<Scope[]>({
    type: 'array',
    minItems: 1,
    maxItems: SCOPES.length,
    uniqueItems: true,
    items: oneOf(SCOPES, { description: 'A scope.' }),
    description,
  });

/** The settings of a new key. */
export const NewKey = Type.Object(
  {
    kind: oneOf(KEY_KINDS, { description: 'Ingestion key or read token.' }),
    name: label({ description: 'Its name: what the key is for.' }),
    scopes: optional(scopeList('The scopes of an ingestion key; absent for a read token.')),
    expires_at: optional(dateTime({ description: 'When it expires, in the future; default never.' })),
  },
  { additionalProperties: false },
);

export type NewKey = Static<typeof NewKey>;

/** The new scopes of an ingestion key. */
export const ScopesChange = Type.Object(
  {
    scopes: scopeList('The scopes of the key from its next request on.'),
    from: optional(scopeList('The scopes that the page showed. If the key has other scopes now, the request is rejected (409).')),
  },
  { additionalProperties: false },
);

/** One event of the key audit trail with the data for verifying it. Its hash is the data of a leaf in the trail's tree. */
export const KeyEvent = Type.Object({
  seq: count({ minimum: 1, description: 'Its number, from 1 without gaps.' }),
  id: uuid({ description: 'ID of the event.' }),
  recorded_at: dateTime({ description: 'When it happened.' }),
  recorded_by: label({ description: 'Who did it: user:<uuid> or operator.' }),
  action: oneOf(['minted', 'rotated', 'revoked', 'scopes_changed'], { description: 'What happened.' }),
  key_id: uuid({ description: 'The key.' }),
  prefix: label({ description: "The key's visible part." }),
  name: label({ description: "The key's name at that time." }),
  scopes: keyScopes('The scopes of the key after the event.'),
  expires_at: nullable(dateTime({ description: 'When the key expires; null if it does not.' })),
  event_hash: unboundedText({ description: 'SHA-256 of the event, 64 hex digits (docs/formats.md, "Key event").' }),
  document: unboundedText({ description: 'The canonical text. event_hash is the hash of a fixed prefix and this text.' }),
});
export type KeyEvent = Static<typeof KeyEvent>;

export const keyRoutes = {
  'keys.list': {
    method: 'GET',
    path: `${WORKSPACE}/keys`,
    access: 'admin',
    compressed: true,
    summary: 'Ingestion keys and read tokens in every state, newest first.',
    query: pageQuery({ kind: filter.oneOf(KEY_KINDS, 'Only this kind.') }),
    response: page(Key),
  },
  'keys.name': {
    method: 'GET',
    path: `${WORKSPACE}/keys/:prefix/name`,
    access: 'viewer',
    compressed: true,
    summary: 'The name of the key with this prefix, in any state. Pages show it for `key:<prefix>`.',
    response: KeyName,
  },
  'keys.mint': {
    method: 'POST',
    path: `${WORKSPACE}/keys`,
    access: 'admin',
    compressed: false,
    summary: 'Mints a key and returns its text, only once; recorded in the key audit trail as minted.',
    body: NewKey,
    response: KeyText,
  },
  'keys.rotate': {
    method: 'POST',
    path: `${WORKSPACE}/keys/:prefix/rotate`,
    access: 'admin',
    compressed: false,
    usesReserve: true,
    summary:
      'Gives a key a new secret and returns the new text of the key, only once. The old secret is invalid from the next request on. ' +
      'Recorded in the key audit trail as rotated.',
    response: KeyText,
  },
  'keys.revoke': {
    method: 'POST',
    path: `${WORKSPACE}/keys/:prefix/revoke`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary: 'Revokes a key permanently, effective with the next request. Recorded in the key audit trail as revoked.',
    response: Key,
  },
  'keys.change_scopes': {
    method: 'PATCH',
    path: `${WORKSPACE}/keys/:prefix`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary:
      'Gives an ingestion key new scopes, effective with the next request. Recorded in the key audit trail as scopes_changed.',
    body: ScopesChange,
    response: Key,
  },
  'key_events.list': {
    method: 'GET',
    path: `${WORKSPACE}/key-events`,
    access: 'admin',
    compressed: true,
    summary: 'The key audit trail, latest first.',
    query: pageQuery({ key_id: filter.uuid('Only this key.') }),
    response: page(KeyEvent),
  },
} as const satisfies Record<string, PortalRoute>;
