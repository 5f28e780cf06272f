import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';

/** The props of the forms of a one-time link: the link, its token, and the action after the sign-in. */
export interface LinkFormProps {
  link: ResponseBody<'links.show'>;
  token: string;
  onSignedIn: (session: ResponseBody<'links.sign_in'>) => void;
}

const PASSWORD_HINT = 'At least 12 characters. Several uncommon words make a strong password.';
const EXISTING_ACCOUNT_HINT = 'If you already have an account on this server, enter only its email address and password.';
const PASSWORD_FIELDS = {
  new: { label: 'New password', description: PASSWORD_HINT, autoComplete: 'new-password' },
  current: { label: 'Your password', autoComplete: 'current-password' },
  either: { label: 'Password', description: `For a new account: ${PASSWORD_HINT}`, autoComplete: 'new-password' },
} as const;

/** The form that creates the first admin, either of a new workspace or of the link's workspace. */
export function SetUp({ link, token, onSignedIn }: LinkFormProps) {
  const [values, setValues] = useState({ workspace_name: '', email: link.email ?? '', name: '', password: '' });
  // The set-up link of the instance works only until a person has set a password. With the set-up link of a workspace, a person can use an
  // existing account. The server then requires the password of this account.
  const mayHaveAccount = link.workspace !== null;
  const set = (member: keyof typeof values) => (value: string) => setValues({ ...values, [member]: value });
  const mutation = useMutation({
    mutationFn: () => {
      const { workspace_name, email, password } = values;
      const name = values.name.trim();
      return call('links.set_up', {
        body: {
          ...{ token, email: email.trim(), password },
          ...(name === '' ? {} : { name }),
          ...(link.workspace === null ? { workspace_name } : {}),
        },
      });
    },
    meta: { errorShownInForm: true },
    onSuccess: onSignedIn,
  });
  return (
    <>
      <p className="soft">
        {link.workspace === null
          ? 'Create the first workspace and its admin account. You can invite others afterwards.'
          : `Become the first admin of ${link.workspace.name}. ${EXISTING_ACCOUNT_HINT}`}
      </p>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['workspace_name', 'email', 'name', 'password']}
        pending={mutation.isPending}
        submit={mayHaveAccount ? 'Become admin and sign in' : 'Create account and sign in'}
      >
        {link.workspace === null && (
          <TextField
            label="Workspace"
            description="For example, your company or team."
            value={values.workspace_name}
            onChange={set('workspace_name')}
            error={fieldError(mutation.error, 'workspace_name')}
          />
        )}
        <TextField
          label="Your name"
          {...(mayHaveAccount ? { description: 'Only for a new account.' } : {})}
          autoComplete="name"
          value={values.name}
          onChange={set('name')}
          error={fieldError(mutation.error, 'name')}
        />
        <TextField
          label="Email address"
          autoComplete="username"
          value={values.email}
          onChange={set('email')}
          error={fieldError(mutation.error, 'email')}
        />
        <PasswordField
          kind={mayHaveAccount ? 'either' : 'new'}
          value={values.password}
          onChange={set('password')}
          error={fieldError(mutation.error, 'password')}
        />
      </Form>
    </>
  );
}

/** The form with which a person joins a workspace, with a new or an existing account. */
export function AcceptInvitation({ link, token, onSignedIn }: LinkFormProps) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const isNew = link.account === 'none';
  const mutation = useMutation({
    mutationFn: () => call('links.accept_invitation', { body: { token, password, ...(isNew ? { name: name.trim() } : {}) } }),
    meta: { errorShownInForm: true },
    onSuccess: onSignedIn,
  });
  if (link.account === 'without_password') return <PasswordRequired link={link} />;
  return (
    <>
      <p className="soft">
        <InvitationSummary link={link} />
        {!isNew && ' You already have an account. Enter its password.'}
      </p>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['name', 'password']}
        pending={mutation.isPending}
        submit="Join"
      >
        {isNew && (
          <TextField
            label="Your name"
            autoComplete="name"
            value={name}
            onChange={setName}
            error={fieldError(mutation.error, 'name')}
          />
        )}
        <PasswordField
          kind={isNew ? 'new' : 'current'}
          value={password}
          onChange={setPassword}
          error={fieldError(mutation.error, 'password')}
        />
      </Form>
    </>
  );
}

const InvitationSummary = ({ link }: { link: LinkFormProps['link'] }) => (
  <>
    You have been invited to <strong>{link.workspace?.name}</strong> as {link.role === 'viewer' ? 'a' : 'an'} {link.role}. The
    invitation is for {link.email}.
  </>
);

/** Replaces the form of an invitation if the invited person has an account without a password. */
const PasswordRequired = ({ link }: { link: LinkFormProps['link'] }) => (
  <>
    <p className="soft">
      <InvitationSummary link={link} />
    </p>
    <p>
      Your account has no password yet. Ask the operator, or a person who is an admin of all your workspaces, for a password reset
      link. Open that link and set a password. Then open this invitation again.
    </p>
  </>
);

/** The form that sets a new password, also the first one of an account without a password. */
export function ResetPassword({ link, token, onSignedIn }: LinkFormProps) {
  const [password, setPassword] = useState('');
  const mutation = useMutation({
    mutationFn: () => call('links.reset_password', { body: { token, password } }),
    meta: { errorShownInForm: true },
    onSuccess: onSignedIn,
  });
  return (
    <>
      <p className="soft">
        Set a new password for {link.email}. This ends all other sessions of the account and signs you in here.
      </p>
      <Form
        onSubmit={() => mutation.mutate()}
        error={mutation.error}
        fields={['password']}
        pending={mutation.isPending}
        submit="Set password"
      >
        <PasswordField kind="new" value={password} onChange={setPassword} error={fieldError(mutation.error, 'password')} />
      </Form>
    </>
  );
}

/** A button that signs in with only the link. A click is required, so that programs that preview links do not use up the link. */
export function SignInByLink({ link, token, onSignedIn }: LinkFormProps) {
  const mutation = useMutation({
    mutationFn: () => call('links.sign_in', { body: { token } }),
    meta: { errorShownInForm: true },
    onSuccess: onSignedIn,
  });
  return (
    <>
      <p className="soft">
        This link signs you in{link.workspace !== null && ` to the workspace ${link.workspace.name}`}
        {link.email !== null && ` as ${link.email}`}. The link works once.
      </p>
      {mutation.isError && <ProblemNotice problem={mutation.error} />}
      <Button loading={mutation.isPending} onClick={() => mutation.mutate()} data-autofocus>
        Sign in
      </Button>
    </>
  );
}

function TextField(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
  description?: string;
  autoComplete?: string;
}) {
  const { onChange, ...others } = props;
  return <TextInput {...others} onChange={({ currentTarget }) => onChange(currentTarget.value)} />;
}

/** A password field for a new password (`new`), for the password of an existing account (`current`), or for one of the two (`either`). */
function PasswordField({
  kind,
  value,
  onChange,
  error,
}: {
  kind: keyof typeof PASSWORD_FIELDS;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  return (
    <PasswordInput
      {...PASSWORD_FIELDS[kind]}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={error}
      aria-invalid={error !== undefined}
      visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
    />
  );
}
