import { type Static, Type } from 'typebox';
import { dateTime, flag, nullable, text, uuid } from '../contract/scalars.ts';
import {
  emailAddress,
  newPassword,
  personName,
  Session as SessionSchema,
  SignInResponse as SignInResponseSchema,
  typedPassword,
} from './identity-fields.ts';
import type { PortalRoute } from './route.ts';

export type Session = Static<typeof SessionSchema>;
export type SignInResponse = Static<typeof SignInResponseSchema>;

/** One of a person's sessions, as the person sees it. */
const ListedSession = Type.Object({
  id: uuid({ description: 'ID of the session; it is not a secret.' }),
  current: flag({ description: 'Whether it is the session of this request.' }),
  created_at: dateTime({ description: 'When it began.' }),
  last_used_at: dateTime({ description: 'When it was last used, accurate to a minute.' }),
  expires_at: dateTime({ description: 'When it expires.' }),
  user_agent: nullable(text({ description: 'The first 300 characters of the User-Agent header; null if none was sent.' })),
});

/** A response that only confirms success. */
const ChangeResponse = Type.Object({ ok: flag({ description: 'Always true: the change is committed.' }) });

/** Signing in and out, and changes to your own account. */
export const sessionRoutes = {
  'session.sign_in': {
    method: 'POST',
    path: '/api/portal/session',
    access: 'anyone',
    compressed: false,
    usesReserve: true,
    summary: 'Sign in with email address and password',
    body: Type.Object({ email: emailAddress(), password: typedPassword() }, { additionalProperties: false }),
    response: SignInResponseSchema,
  },
  'session.show': {
    method: 'GET',
    path: '/api/portal/session',
    access: 'person',
    compressed: false,
    summary: 'The signed-in person and their workspaces',
    response: SessionSchema,
  },
  'session.sign_out': {
    method: 'DELETE',
    path: '/api/portal/session',
    access: 'person',
    compressed: false,
    usesReserve: true,
    summary: 'Sign out: end this session',
    response: ChangeResponse,
  },
  'sessions.list': {
    method: 'GET',
    path: '/api/portal/account/sessions',
    access: 'person',
    compressed: false,
    summary: 'The sessions of the caller, newest first, at most 200',
    response: Type.Object({ items: Type.Array(ListedSession) }),
  },
  'sessions.end': {
    method: 'DELETE',
    path: '/api/portal/account/sessions/:session',
    access: 'person',
    compressed: false,
    usesReserve: true,
    summary: 'End one session of the caller',
    response: ChangeResponse,
  },
  'account.rename': {
    method: 'PATCH',
    path: '/api/portal/account',
    access: 'person',
    compressed: false,
    summary: 'Change the name of the caller',
    body: Type.Object({ name: personName() }, { additionalProperties: false }),
    response: SessionSchema,
  },
  'account.change_password': {
    method: 'POST',
    path: '/api/portal/account/password',
    access: 'person',
    compressed: false,
    usesReserve: true,
    summary: 'Change the password of the caller: all sessions end, and a new one starts',
    body: Type.Object({ current_password: typedPassword(), new_password: newPassword() }, { additionalProperties: false }),
    response: SignInResponseSchema,
  },
} as const satisfies Record<string, PortalRoute>;
