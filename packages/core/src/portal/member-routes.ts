import { type Static, Type } from 'typebox';
import { dateTime, flag, label, uuid } from '../contract/scalars.ts';
import { emailAddress, OneTimeLink, personName, role } from './identity-fields.ts';
import { WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** A member of the workspace. */
const Member = Type.Object({
  person_id: uuid({ description: 'ID of the person; ledger entries name the person as `user:<id>`.' }),
  email: emailAddress(),
  name: personName(),
  role: role(),
  joined_at: dateTime({ description: 'When the person joined.' }),
});
export type Member = Static<typeof Member>;

/** A pending invitation. Its link was shown once and is not included. */
const Invitation = Type.Object({
  id: uuid({ description: 'ID of the invitation.' }),
  email: emailAddress(),
  role: role(),
  invited_by: label({ description: 'Who created it: `operator` or `user:<id>`.' }),
  created_at: dateTime({ description: 'When it was created.' }),
  expires_at: dateTime({ description: 'When it expires.' }),
});
export type Invitation = Static<typeof Invitation>;

const ChangeResponse = Type.Object({ ok: flag({ description: 'Always true: the change is committed.' }) });

/** Members, their roles, and invitations of a workspace. */
export const memberRoutes = {
  'members.list': {
    method: 'GET',
    path: `${WORKSPACE}/members`,
    access: 'viewer',
    compressed: true,
    summary: 'The members, by name',
    response: Type.Object({ items: Type.Array(Member) }),
  },
  'members.change_role': {
    method: 'PATCH',
    path: `${WORKSPACE}/members/:person`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary: "Change a member's role; the role of the last admin cannot be changed",
    body: Type.Object({ role: role() }, { additionalProperties: false }),
    response: ChangeResponse,
  },
  'members.remove': {
    method: 'DELETE',
    path: `${WORKSPACE}/members/:person`,
    access: 'admin',
    compressed: true,
    usesReserve: true,
    summary: 'Remove a member; the last admin cannot be removed',
    response: ChangeResponse,
  },
  'members.leave': {
    method: 'DELETE',
    path: `${WORKSPACE}/membership`,
    access: 'viewer',
    compressed: true,
    usesReserve: true,
    summary: 'Leave the workspace; the last admin cannot leave',
    response: ChangeResponse,
  },
  'members.reset_password': {
    method: 'POST',
    path: `${WORKSPACE}/members/:person/password-reset`,
    access: 'admin',
    compressed: false,
    usesReserve: true,
    summary:
      'Create a one-time link with which another member sets a new password; the caller must be admin of all workspaces of that member',
    response: OneTimeLink,
  },
  'invitations.list': {
    method: 'GET',
    path: `${WORKSPACE}/invitations`,
    access: 'admin',
    compressed: false,
    summary: 'The pending invitations, newest first, at most 1,000',
    response: Type.Object({ items: Type.Array(Invitation) }),
  },
  'invitations.create': {
    method: 'POST',
    path: `${WORKSPACE}/invitations`,
    access: 'admin',
    compressed: false,
    summary: 'Invite a person by a one-time link; an earlier invitation for the same address becomes invalid',
    body: Type.Object({ email: emailAddress(), role: role() }, { additionalProperties: false }),
    response: OneTimeLink,
  },
  'invitations.withdraw': {
    method: 'DELETE',
    path: `${WORKSPACE}/invitations/:invitation`,
    access: 'admin',
    compressed: false,
    usesReserve: true,
    summary: 'Withdraw an invitation: its link stops working',
    response: ChangeResponse,
  },
} as const satisfies Record<string, PortalRoute>;
