import { Type } from 'typebox';
import { dateTime, type FieldNotes, label, nullable, oneOf, text, uuid } from '../contract/scalars.ts';
import { ROLES } from './route.ts';

/**
 * The minimum length of a password, in characters (docs/decisions/0014). NIST SP 800-63B-4, section 3.1.1.2, requires 15 without a second
 * factor, and 8 with one.
 */
export const PASSWORD_LENGTH_MIN = 12;
/** The maximum length of a password in bytes of UTF-8. It limits the cost of hashing. */
export const PASSWORD_BYTES_MAX = 1024;

/** An email address as people type it. The server ignores case when it compares addresses. */
export const emailAddress = (notes: Partial<FieldNotes> = {}) =>
  Type.Unsafe<string>({
    type: 'string',
    format: 'email',
    maxLength: 254,
    description: 'Email address.',
    examples: ['ada@example.com'],
    ...notes,
  });

/** A new password: valid Unicode text. The only other rule is its length. */
export const newPassword = () =>
  Type.Unsafe<string>({
    type: 'string',
    format: 'password',
    minLength: PASSWORD_LENGTH_MIN,
    description: `The new password: ${PASSWORD_LENGTH_MIN} characters or more, at most ${PASSWORD_BYTES_MAX} bytes.`,
  });

/** An existing password, as typed. */
export const typedPassword = () =>
  Type.Unsafe<string>({ type: 'string', format: 'password', minLength: 1, description: 'The password.' });

/** A person's name as others see it. */
export const personName = () =>
  Type.Unsafe<string>({
    ...label({ description: 'Name, as others see it.', examples: ['Ada Lovelace'] }),
    format: 'person-name',
  });

/** The role of a member. */
export const role = () =>
  oneOf(ROLES, {
    description: 'Role in the workspace. Each role has the rights of the roles before it.',
    examples: ['approver'],
  });

/** The secret of a one-time link, from the fragment of its address. */
export const linkToken = () => text({ description: 'The part of a one-time link after the #.' });

/** A workspace as a member sees it. */
export const WorkspaceName = Type.Object({
  id: uuid({ description: 'ID of the workspace.' }),
  name: label({ description: 'Name of the workspace.', examples: ['acme'] }),
});

/** A signed-in person and their memberships. */
export const Session = Type.Object({
  person: Type.Object({
    id: uuid({ description: 'ID of the person; ledger entries name the person as `user:<id>`.' }),
    email: emailAddress(),
    name: personName(),
    has_password: Type.Boolean({ description: 'False for a person who used a sign-in link and has never set a password.' }),
  }),
  memberships: Type.Array(Type.Object({ workspace: WorkspaceName, role: role() }), {
    description: 'In the order of the workspace names.',
  }),
  expires_at: dateTime({ description: 'When the session expires.' }),
});

/** The response to every sign-in. It also sets the session cookie. */
export const SignInResponse = Type.Object({
  ...Session.properties,
  workspace_id: nullable(
    uuid({
      description:
        'The workspace to open: the workspace of the used link, or the workspace created with the link; null if there is none.',
    }),
  ),
});

/** A one-time link, shown only once. */
export const OneTimeLink = Type.Object({
  path: Type.Unsafe<string>({
    type: 'string',
    description: 'Path and fragment of the link. The page adds its own origin before them.',
    examples: ['/link#q1w2e3…'],
  }),
  expires_at: dateTime({ description: 'When it expires. It works only once.' }),
});
