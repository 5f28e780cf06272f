import { PasswordInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { queryClient } from '../../api/query-client.ts';
import { sessionQuery } from '../../api/session.ts';
import { announceSessionChange } from '../../api/session-channel.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { PublicPage } from './public-page.tsx';

/** Signs in, and goes back to where somebody was sent away from. */
export function SignInPage() {
  const { to } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const router = useRouter();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({
    mutationFn: () => call('session.sign_in', { body: { email: email.trim(), password } }),
    meta: { errorShownInForm: true },
    onSuccess: async ({ workspace_id: _none, ...session }) => {
      queryClient.clear();
      queryClient.setQueryData(sessionQuery.queryKey, session);
      announceSessionChange();
      if (to !== undefined && isOwnPath(to)) router.history.push(to);
      else await navigate({ to: '/' });
    },
  });
  return (
    <PublicPage title="Sign in" lead={to === undefined ? undefined : 'Sign in to go on where you were.'}>
      <Form
        onSubmit={() => signIn.mutate()}
        error={signIn.error}
        fields={['email', 'password']}
        pending={signIn.isPending}
        submit="Sign in"
      >
        <TextInput
          label="E-mail address"
          type="email"
          autoComplete="username"
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          error={fieldError(signIn.error, 'email')}
          autoFocus
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
          error={fieldError(signIn.error, 'password')}
          aria-invalid={fieldError(signIn.error, 'password') !== undefined}
          visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
        />
      </Form>
      <p className="faint">Lost your password? An admin of your workspace can give you a one-time link to set a new one.</p>
      <p className="faint">No account yet? An admin invites you by a link. A server that is new prints a link when it starts.</p>
    </PublicPage>
  );
}

/** Back to a page of this portal alone: an address of somewhere else in a link must lead nowhere. */
const isOwnPath = (to: string): boolean => to.startsWith('/') && !to.startsWith('//') && !to.startsWith('/\\');
