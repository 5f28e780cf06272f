import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import type { LinkFormProps } from './link-page.tsx';

const LENGTH = '12 characters or more; a few unusual words are better than one with signs in it.';

/** The first admin: of a new workspace, or of the one that the link is for. */
export function SetUp({ link, token, signedIn }: LinkFormProps) {
  const [typed, setTyped] = useState({ workspace_name: '', email: link.email ?? '', name: '', password: '' });
  const set = (member: keyof typeof typed) => (value: string) => setTyped({ ...typed, [member]: value });
  const act = useMutation({
    mutationFn: () => {
      const { workspace_name, email, name, password } = typed;
      return call('links.set_up', {
        body: { token, email: email.trim(), password, name: name.trim(), ...(link.workspace === null ? { workspace_name } : {}) },
      });
    },
    meta: { errorShownInForm: true },
    onSuccess: signedIn,
  });
  return (
    <>
      <p className="soft">
        {link.workspace === null
          ? 'Name the first workspace, and become its admin. Others are invited afterwards.'
          : `Become the first admin of ${link.workspace.name}.`}
      </p>
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={['workspace_name', 'email', 'name', 'password']}
        pending={act.isPending}
        submit="Set up and sign in"
      >
        {link.workspace === null && (
          <Text
            label="Workspace"
            description="For example your company or team."
            value={typed.workspace_name}
            onChange={set('workspace_name')}
            error={fieldError(act.error, 'workspace_name')}
          />
        )}
        <Text
          label="Your name"
          autoComplete="name"
          value={typed.name}
          onChange={set('name')}
          error={fieldError(act.error, 'name')}
        />
        <Text
          label="E-mail address"
          autoComplete="username"
          value={typed.email}
          onChange={set('email')}
          error={fieldError(act.error, 'email')}
        />
        <Password isNew value={typed.password} onChange={set('password')} error={fieldError(act.error, 'password')} />
      </Form>
    </>
  );
}

/** Joins a workspace: with a new account, or with the one that the person has. */
export function AcceptInvitation({ link, token, signedIn }: LinkFormProps) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const act = useMutation({
    mutationFn: () =>
      call('links.accept_invitation', { body: { token, password, ...(link.has_account ? {} : { name: name.trim() }) } }),
    meta: { errorShownInForm: true },
    onSuccess: signedIn,
  });
  return (
    <>
      <p className="soft">
        You are invited to <strong>{link.workspace?.name}</strong> as {link.role === 'viewer' ? 'a' : 'an'} {link.role}, as{' '}
        {link.email}.{link.has_account && ' You have an account already: its password is enough.'}
      </p>
      <Form onSubmit={() => act.mutate()} error={act.error} fields={['name', 'password']} pending={act.isPending} submit="Join">
        {!link.has_account && (
          <Text label="Your name" autoComplete="name" value={name} onChange={setName} error={fieldError(act.error, 'name')} />
        )}
        <Password isNew={!link.has_account} value={password} onChange={setPassword} error={fieldError(act.error, 'password')} />
      </Form>
    </>
  );
}

/** A new password in place of a lost one. */
export function ResetPassword({ link, token, signedIn }: LinkFormProps) {
  const [password, setPassword] = useState('');
  const act = useMutation({
    mutationFn: () => call('links.reset_password', { body: { token, password } }),
    meta: { errorShownInForm: true },
    onSuccess: signedIn,
  });
  return (
    <>
      <p className="soft">A new password for {link.email}. All sessions of this account end, and a new one begins here.</p>
      <Form
        onSubmit={() => act.mutate()}
        error={act.error}
        fields={['password']}
        pending={act.isPending}
        submit="Set the password"
      >
        <Password isNew value={password} onChange={setPassword} error={fieldError(act.error, 'password')} />
      </Form>
    </>
  );
}

/** Signs in with nothing but the link; by a button, because programs that preview links must not use it up. */
export function SignInByLink({ link, token, signedIn }: LinkFormProps) {
  const act = useMutation({
    mutationFn: () => call('links.sign_in', { body: { token } }),
    meta: { errorShownInForm: true },
    onSuccess: signedIn,
  });
  return (
    <>
      <p className="soft">
        This link signs you in{link.email !== null && ` as ${link.email}`}
        {link.workspace !== null && `, to the workspace ${link.workspace.name}`}. It works once.
      </p>
      {act.isError && <ProblemNotice problem={act.error} />}
      <Button loading={act.isPending} onClick={() => act.mutate()} data-autofocus>
        Sign in
      </Button>
    </>
  );
}

function Text(props: {
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

function Password({
  isNew,
  value,
  onChange,
  error,
}: {
  isNew: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  return (
    <PasswordInput
      label={isNew ? 'New password' : 'Your password'}
      {...(isNew ? { description: LENGTH } : {})}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={error}
      aria-invalid={error !== undefined}
      visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
    />
  );
}
