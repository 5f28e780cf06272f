import { type Static, Type } from 'typebox';
import { dateTime, freeObject, label, nullable, oneOf, unboundedText } from '../contract/scalars.ts';
import { WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** A decision key of the workspace (HMAC-SHA256): its ID and state, without the key itself. */
export const DecisionKey = Type.Object({
  key_id: label({ description: 'Its ID, as decisions name it.' }),
  state: oneOf(['signs', 'waits', 'retired'], {
    description: 'Whether it signs now, waits until the older key is retired, or is retired.',
  }),
  created_at: dateTime({ description: 'When it was created.' }),
  retired_at: nullable(dateTime({ description: 'When it was retired; null if it is live.' })),
});
export type DecisionKey = Static<typeof DecisionKey>;

export const signingRoutes = {
  'signing.read': {
    method: 'GET',
    path: `${WORKSPACE}/signing`,
    access: 'viewer',
    compressed: true,
    summary: "The instance's public keys, and the IDs and states of the workspace's decision keys.",
    response: Type.Object({
      public_keys: Type.Array(
        freeObject({ description: 'A JSON Web Key (RFC 8037). A retired key contains the time of its retirement.' }),
        {
          description:
            'The keys of checkpoints and attestations, including retired keys. The same keys are at /.well-known/jwks.json.',
        },
      ),
      decision_keys: Type.Array(DecisionKey, { description: 'Oldest first, including retired keys.' }),
    }),
  },
  'decision_keys.show': {
    method: 'POST',
    path: `${WORKSPACE}/decision-keys/:key/show`,
    access: 'admin',
    compressed: false,
    summary:
      'Returns a decision key. Anyone who has it can verify and forge decisions. Recorded in the ledger as decision_key.shown.',
    response: Type.Object({
      key_id: label({ description: 'Its ID.' }),
      decision_key: unboundedText({ description: 'The key, 64 hex digits.' }),
    }),
  },
  'decision_keys.rotate': {
    method: 'POST',
    path: `${WORKSPACE}/decision-keys/rotate`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary:
      'Adds a second live decision key. It signs only after the older key is retired. Recorded in the ledger as decision_key.rotated.',
    response: Type.Object({ key_id: label({ description: 'ID of the new key.' }) }),
  },
  'decision_keys.retire': {
    method: 'POST',
    path: `${WORKSPACE}/decision-keys/:key/retire`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary:
      'Retires a decision key, but never the only live one. The other live key signs from now on. Recorded in the ledger as ' +
      'decision_key.retired.',
    response: Type.Object({ signing: label({ description: 'ID of the key that signs now.' }) }),
  },
} as const satisfies Record<string, PortalRoute>;
