import { Type } from 'typebox';
import { dateTime, type FieldNotes, label, nullable, oneOf, text, uuid } from '../contract/scalars.ts';
import { ROLES } from './route.ts';

/** Shortest password that is taken, in characters (NIST SP 800-63B-4, section 3.1.1.2, asks for 15 where it stands alone, 8 beside a second factor). */
export const PASSWORD_LENGTH_MIN = 12;
/** Longest password in bytes of UTF-8: more is no password, and hashing it is work for whoever asks. */
export const PASSWORD_BYTES_MAX = 1024;

/** An e-mail address as people type it; the server compares it without regard to case. */
export const emailAddress = (notes: Partial<FieldNotes> = {}) =>
  Type.Unsafe<string>({
    type: 'string',
    format: 'email',
    maxLength: 254,
    description: 'E-mail address.',
    examples: ['ada@example.com'],
    ...notes,
  });

/** A password that somebody chooses: long, and nothing else is asked of it. */
export const newPassword = () =>
  Type.Unsafe<string>({
    type: 'string',
    format: 'password',
    minLength: PASSWORD_LENGTH_MIN,
    description: `The new password: ${PASSWORD_LENGTH_MIN} characters or more, at most ${PASSWORD_BYTES_MAX} bytes.`,
  });

/** A password that somebody has, as typed. */
export const typedPassword = () =>
  Type.Unsafe<string>({ type: 'string', format: 'password', minLength: 1, description: 'The password.' });

/** A person's name as others see it. */
export const personName = () =>
  Type.Unsafe<string>({
    ...label({ description: 'Name, as others see it.', examples: ['Ada Lovelace'] }),
    format: 'person-name',
  });

export const role = () =>
  oneOf(ROLES, { description: 'Role in the workspace; each has the rights of those before it.', examples: ['approver'] });

/** The secret of a one-time link, from the fragment of its address. */
export const linkToken = () => text({ description: 'What stands behind the # of a one-time link.' });

/** A workspace as a member sees it. */
export const WorkspaceName = Type.Object({
  id: uuid({ description: 'Identifier of the workspace.' }),
  name: label({ description: 'Name of the workspace.', examples: ['acme'] }),
});

/** A person who is signed in, and where they belong: what every page begins with. */
export const Session = Type.Object({
  person: Type.Object({
    id: uuid({ description: 'Identifier of the person; ledger entries name them as `user:<id>`.' }),
    email: emailAddress(),
    name: personName(),
    has_password: Type.Boolean({ description: 'False for somebody who came by a sign-in link and has never set one.' }),
  }),
  memberships: Type.Array(Type.Object({ workspace: WorkspaceName, role: role() }), { description: 'By name of the workspace.' }),
  expires_at: dateTime({ description: 'When the session ends by itself.' }),
});

/** The answer to whatever signs somebody in. The cookie comes with it. */
export const SignedIn = Type.Object({
  ...Session.properties,
  workspace_id: nullable(uuid({ description: 'The workspace that a link was for; null when it was for none.' })),
});

/** A one-time link, given out once and never shown again. */
export const OneTimeLink = Type.Object({
  path: Type.Unsafe<string>({
    type: 'string',
    description: 'Path and fragment of the link; the page puts its own origin in front.',
    examples: ['/link#q1w2e3…'],
  }),
  expires_at: dateTime({ description: 'Until when it can be used, once.' }),
});
