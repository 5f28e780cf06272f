import { parseIngestionKey } from '@countersign/core/domain/ingestion-key';
import { parseDateTime } from '@countersign/core/domain/instant';
import type { KeyEvent, NewKey } from '@countersign/core/portal/key-routes';
import { inReadTransaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { findListedKey, listKeyEvents, listKeysPage } from '../storage/portal/keys.ts';
import { changeScopes, type NewKey as KeyToMint, mintKey, revokeKey, rotateKey } from '../workspace/ingestion-keys.ts';
import { handlers } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import type { PortalParts } from './portal-parts.ts';
import { idOf, requireFound } from './query.ts';

/** Ingestion keys and read tokens, and their audit trail: only for admins, except for a key's name. */
export const keyHandlers = handlers({
  'keys.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['instant', 'label']);
    const position = after === null ? null : { at: after[0], prefix: after[1] };
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => listKeysPage(tx, query.kind ?? null, position, limit),
        ({ place_at: at, prefix }) => [at, prefix],
      );
      return { items: items.map(({ place_at: _, ...item }) => item), next };
    });
  },

  'keys.name': async ({ workspace, params, parts }) => {
    const { name } = requireFound(await inReadTransaction(parts.readPool, workspace, (tx) => findListedKey(tx, params.prefix)));
    return { name };
  },

  'keys.mint': async ({ workspace, body, actor, parts }) => {
    const keyToMint = { name: body.name, scopes: scopesOf(body), expiresAt: expiryOf(body.expires_at ?? null) };
    return keyResponse(await mintKey(parts.pool, workspace, keyToMint, actor));
  },

  'keys.rotate': async ({ workspace, params, actor, parts }) =>
    keyResponse(await rotateKey(parts.pool, workspace, params.prefix, actor)),

  'keys.revoke': async ({ workspace, params, actor, parts }) => {
    await revokeKey(parts.pool, workspace, params.prefix, actor);
    return readKey(parts, workspace, params.prefix);
  },

  'keys.change_scopes': async ({ workspace, params, body, actor, parts }) => {
    const { scopes, from } = body;
    await changeScopes(parts.pool, workspace, { prefix: params.prefix, scopes, from: from ?? undefined }, actor);
    return readKey(parts, workspace, params.prefix);
  },

  'key_events.list': async ({ workspace, query, parts }) => {
    const after = readCursor(query.cursor, ['wholeNumber']);
    const below = after === null ? null : Number(after[0]);
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => listKeyEvents(tx, idOf(query.key_id), below, limit),
        ({ seq }) => [seq],
      );
      return { items: items.map(eventOf), next };
    });
  },
});

const keyResponse = (key: string): { key: string; prefix: string } => ({ key, prefix: parseIngestionKey(key)!.prefix });

async function readKey({ readPool }: PortalParts, workspace: string, prefix: string) {
  const { place_at: _, ...key } = requireFound(await inReadTransaction(readPool, workspace, (tx) => findListedKey(tx, prefix)));
  return key;
}

/**
 * The scopes of a new key: the given scopes for an ingestion key, and `read` for a read token. Throws a 422 for an ingestion key without
 * scopes, and for a read token with scopes.
 */
function scopesOf({ kind, scopes }: NewKey): KeyToMint['scopes'] {
  const chosenScopes = scopes ?? null;
  if (kind === 'live' && chosenScopes === null)
    throw validationFailed({ path: '/scopes', code: 'required', message: 'scopes is required for an ingestion key' });
  if (kind === 'read' && chosenScopes !== null)
    throw validationFailed({
      path: '/scopes',
      code: 'unknown_member',
      message: 'a read token has no scopes to choose; leave scopes out',
    });
  return chosenScopes ?? ['read'];
}

/** An expiry in UTC with milliseconds; null for none. Throws a 422 for a time in the past. */
function expiryOf(text: string | null): string | null {
  if (text === null) return null;
  const expiry = new Date(Number(parseDateTime(text)! / 1000n));
  if (expiry.getTime() <= Date.now())
    throw validationFailed({ path: '/expires_at', code: 'too_small', message: 'expires_at must be in the future' });
  return expiry.toISOString();
}

function eventOf({ event_hash, document }: { event_hash: string; document: string }): KeyEvent {
  const {
    version: _version,
    tenant_id: _tenant,
    ...members
  } = JSON.parse(document) as KeyEvent & { version: 1; tenant_id: string };
  return { ...members, event_hash, document };
}
