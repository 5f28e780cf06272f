import { type Static, Type } from 'typebox';
import { dateTime, label, nullable, oneOf } from '../contract/scalars.ts';
import { emailAddress, linkToken, newPassword, personName, role, SignInResponse, WorkspaceName } from './identity-fields.ts';
import type { PortalRoute } from './route.ts';

/** The purposes of a one-time link. */
export const LINK_PURPOSES = ['set_up', 'invitation', 'password_reset', 'sign_in'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** The path of the page for one-time links. The token is in the fragment of the address, which browsers do not send. */
export const LINK_PAGE = '/link';

/** The purpose of a one-time link, and the data for the form that the page shows. */
const ShownLink = Type.Object({
  purpose: oneOf(LINK_PURPOSES, { description: 'What the link is for.' }),
  workspace: nullable(Type.Unsafe<Static<typeof WorkspaceName>>(WorkspaceName)),
  email: nullable(
    emailAddress({
      description: 'Email address of the person that the link is for; null for a set-up link, whose user enters it.',
    }),
  ),
  role: nullable(role()),
  account: oneOf(['none', 'without_password', 'with_password'], {
    description:
      'Whether the email address has an account, and whether the account has a password; `none` if the link has no ' +
      'address. A person with an account needs its password to accept an invitation. If the account has no password, the person must ' +
      'set one first.',
  }),
  expires_at: dateTime({ description: 'When it expires.' }),
});
export type ShownLink = Static<typeof ShownLink>;

/** One-time links. Their routes need no session. The response is 410 for an unknown, used, withdrawn or expired link. */
export const linkRoutes = {
  'links.show': {
    method: 'POST',
    path: '/api/portal/links/show',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'Show what a one-time link is for, without using the link',
    body: Type.Object({ token: linkToken() }, { additionalProperties: false }),
    response: ShownLink,
  },
  'links.set_up': {
    method: 'POST',
    path: '/api/portal/links/set-up',
    access: 'anyone',
    compressed: false,
    summary: 'Become the admin of a new workspace, or of the workspace that the link is for',
    body: Type.Object(
      {
        token: linkToken(),
        workspace_name: Type.Optional(
          label({ description: 'Name of the new workspace; required unless the link is for an existing one.' }),
        ),
        email: emailAddress(),
        name: Type.Optional(personName()),
        password: newPassword(),
      },
      {
        additionalProperties: false,
        description:
          'A person with an account must send the email address and the password of the account. Anyone else must send a name.',
      },
    ),
    response: SignInResponse,
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
    response: SignInResponse,
  },
  'links.reset_password': {
    method: 'POST',
    path: '/api/portal/links/reset-password',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'Set a new password: all sessions of the person end, and a new one starts',
    body: Type.Object({ token: linkToken(), password: newPassword() }, { additionalProperties: false }),
    response: SignInResponse,
  },
  'links.sign_in': {
    method: 'POST',
    path: '/api/portal/links/sign-in',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'Sign in by a one-time link',
    body: Type.Object({ token: linkToken() }, { additionalProperties: false }),
    response: SignInResponse,
  },
} as const satisfies Record<string, PortalRoute>;
