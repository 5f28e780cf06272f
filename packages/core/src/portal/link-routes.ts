import { type Static, Type } from 'typebox';
import { dateTime, flag, label, nullable, oneOf } from '../contract/scalars.ts';
import { emailAddress, linkToken, newPassword, personName, role, SignedIn, WorkspaceName } from './identity-fields.ts';
import type { PortalRoute } from './route.ts';

/** What a one-time link is for. */
export const LINK_PURPOSES = ['set_up', 'invitation', 'password_reset', 'sign_in'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** The page that one-time links lead to; the token stands behind it as the fragment, which no browser sends or passes on. */
export const LINK_PAGE = '/link';

/** What a one-time link is for, as the page needs it to ask the right questions. */
const ShownLink = Type.Object({
  purpose: oneOf(LINK_PURPOSES, { description: 'What the link is for.' }),
  workspace: nullable(Type.Unsafe<Static<typeof WorkspaceName>>(WorkspaceName)),
  email: nullable(emailAddress({ description: 'Whom the link is for; null for a set-up link, where the person says it.' })),
  role: nullable(role()),
  has_account: flag({ description: 'Whether that person has an account, and so joins with the password they have.' }),
  expires_at: dateTime({ description: 'Until when it can be used.' }),
});
export type ShownLink = Static<typeof ShownLink>;

/** One-time links: opened by whoever holds one. An unknown, used or expired one is a 410, whatever it was. */
export const linkRoutes = {
  'links.show': {
    method: 'POST',
    path: '/api/portal/links/show',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'What a one-time link is for; does not use it up',
    body: Type.Object({ token: linkToken() }, { additionalProperties: false }),
    answer: ShownLink,
  },
  'links.set_up': {
    method: 'POST',
    path: '/api/portal/links/set-up',
    access: 'anyone',
    compressed: false,
    summary: 'Become the first admin: of a new workspace, or of the one that the link is for',
    body: Type.Object(
      {
        token: linkToken(),
        workspace_name: Type.Optional(label({ description: 'Name of the new workspace, where the link is for none.' })),
        email: emailAddress(),
        name: Type.Optional(personName()),
        password: newPassword(),
      },
      {
        additionalProperties: false,
        description: 'Of somebody who has an account, e-mail address and password are those of the account.',
      },
    ),
    answer: SignedIn,
  },
  'links.accept_invitation': {
    method: 'POST',
    path: '/api/portal/links/accept-invitation',
    access: 'anyone',
    compressed: false,
    summary: 'Join a workspace: with a name and a new password, or with the password of the account',
    body: Type.Object(
      { token: linkToken(), name: Type.Optional(personName()), password: newPassword() },
      { additionalProperties: false },
    ),
    answer: SignedIn,
  },
  'links.reset_password': {
    method: 'POST',
    path: '/api/portal/links/reset-password',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'Set a new password: every session of the person ends, and a new one begins',
    body: Type.Object({ token: linkToken(), password: newPassword() }, { additionalProperties: false }),
    answer: SignedIn,
  },
  'links.sign_in': {
    method: 'POST',
    path: '/api/portal/links/sign-in',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'Sign in by a one-time link',
    body: Type.Object({ token: linkToken() }, { additionalProperties: false }),
    answer: SignedIn,
  },
} as const satisfies Record<string, PortalRoute>;
