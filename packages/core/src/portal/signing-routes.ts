import { type Static, Type } from 'typebox';
import { dateTime, freeObject, label, nullable, oneOf, unboundedText } from '../contract/scalars.ts';
import { WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** A key of the workspace that signs decisions (HMAC-SHA256), by its id. */
export const DecisionKey = Type.Object({
  key_id: label({ description: 'Its id, as decisions name it.' }),
  state: oneOf(['signs', 'waits', 'retired'], {
    description: 'Whether it signs now, waits for the older one to be retired, or is retired.',
  }),
  created_at: dateTime({ description: 'When it was created.' }),
  retired_at: nullable(dateTime({ description: 'When it was retired.' })),
});
export type DecisionKey = Static<typeof DecisionKey>;

export const signingRoutes = {
  'signing.read': {
    method: 'GET',
    path: `${WORKSPACE}/signing`,
    access: 'viewer',
    compressed: true,
    summary: "The instance's public keys, and the workspace's decision keys by their IDs.",
    response: Type.Object({
      public_keys: Type.Array(freeObject({ description: 'A JSON Web Key (RFC 8037), a retired one with its time.' }), {
        description: 'Of checkpoints and attestations, as at /.well-known/jwks.json.',
      }),
      decision_keys: Type.Array(DecisionKey, { description: 'Oldest first, retired ones too.' }),
    }),
  },
  'decision_keys.show': {
    method: 'POST',
    path: `${WORKSPACE}/decision-keys/:key/show`,
    access: 'admin',
    compressed: false,
    summary:
      'Returns a decision key, whose holder can verify decisions and forge them. Recorded in the ledger as decision_key.shown.',
    response: Type.Object({
      key_id: label({ description: 'Its id.' }),
      decision_key: unboundedText({ description: '64 hex digits.' }),
    }),
  },
  'decision_keys.rotate': {
    method: 'POST',
    path: `${WORKSPACE}/decision-keys/rotate`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary:
      'Adds a second live decision key, which waits until the older one is retired; recorded in the ledger as decision_key.rotated.',
    response: Type.Object({ key_id: label({ description: 'Id of the new one.' }) }),
  },
  'decision_keys.retire': {
    method: 'POST',
    path: `${WORKSPACE}/decision-keys/:key/retire`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary:
      'Retires a decision key, but never the last live one; the other one signs from now on. Recorded in the ledger as decision_key.retired.',
    response: Type.Object({ signing: label({ description: 'Id of the key that signs now.' }) }),
  },
} as const satisfies Record<string, PortalRoute>;
