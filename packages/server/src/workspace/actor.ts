import { mayActAs, type Role } from '@countersign/core/portal/route';
import type { Transaction } from '../database/transaction.ts';
import { holdRole } from '../storage/memberships.ts';
import { Refusal } from './refusal.ts';

/** Who performed an act, as rows name them: `operator` on the command line, `user:<uuid>` in the portal. Never an address. */
export type ActorName = 'operator' | `user:${string}`;

/** Somebody who acts in the portal, and the role that the act is for: they must have it, or one with its rights, until the act is done. */
export interface ActingMember {
  personId: string;
  role: Role;
}

/** Who performs an act. The operator has no role to lose. */
export type Actor = 'operator' | ActingMember;

/** How an actor is recorded. */
export const actorName = (actor: Actor): ActorName => (actor === 'operator' ? actor : personName(actor.personId));

/** How a person is recorded. */
export const personName = (personId: string): `user:${string}` => `user:${personId}`;

/**
 * Refuses a member who has lost the role since their session was looked at: acts wait for each other, and the one before may have been
 * their removal. What they have now they keep until this transaction ends.
 */
export async function requireRoleStill(tx: Transaction, actor: Actor): Promise<void> {
  if (actor === 'operator') return;
  const role = await holdRole(tx, actor.personId);
  if (role === undefined) throw new Refusal('you are no longer a member of this workspace');
  if (!mayActAs(role, actor.role))
    throw new Refusal(`this needs the role ${actor.role}; yours in this workspace is ${role} by now`);
}
