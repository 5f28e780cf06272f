import { mayActAs, type Role } from '@countersign/core/portal/route';
import type { Transaction } from '../database/transaction.ts';
import { lockRole } from '../storage/memberships.ts';
import { RuleViolationError } from './rule-violation.ts';

/** How rows name the actor of an action: `operator` on the command line, `user:<uuid>` in the portal. Never an email address. */
export type ActorName = 'operator' | `user:${string}`;

/** A person who acts in the portal, and the required role. The person must have this role, or a higher one, until the action is done. */
export interface ActingMember {
  personId: string;
  role: Role;
}

/** Who performs an action. The operator has no role. */
export type Actor = 'operator' | ActingMember;

/** The name of an actor in rows. */
export const actorName = (actor: Actor): ActorName => (actor === 'operator' ? actor : personName(actor.personId));

/** The name of a person in rows. */
export const personName = (personId: string): `user:${string}` => `user:${personId}`;

/**
 * Rejects a member who has lost the role since their session was checked. Another action may have removed this member or changed the role
 * in the meantime. The role cannot change until this transaction ends.
 */
export async function requireCurrentRole(tx: Transaction, actor: Actor): Promise<void> {
  if (actor === 'operator') return;
  const role = await lockRole(tx, actor.personId);
  if (role === undefined) throw new RuleViolationError('you are no longer a member of this workspace');
  if (!mayActAs(role, actor.role))
    throw new RuleViolationError(`this action requires the role ${actor.role}; your role in this workspace is now ${role}`);
}
