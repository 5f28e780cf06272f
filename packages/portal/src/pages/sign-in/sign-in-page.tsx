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

/** The sign-in page. After the sign-in, it opens the page that required the sign-in (parameter `to`), or `/`. */
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
    <PublicPage title="Sign in" lead={to === undefined ? undefined : 'Sign in to continue.'}>
      <Form
        onSubmit={() => signIn.mutate()}
        error={signIn.error}
        fields={['email', 'password']}
        pending={signIn.isPending}
        submit="Sign in"
      >
        <TextInput
          label="Email address"
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
      <p className="faint">
        Forgot your password? Ask someone who is an admin of all your workspaces, or the operator, for a reset link.
      </p>
      <p className="faint">
        No account yet? Ask an admin for an invitation. The operator of a new server gets a set-up link when the server starts, or
        from the command <code>countersign-server workspace create</code>.
      </p>
    </PublicPage>
  );
}

/** Whether a redirect target is a path of this portal. Other targets are ignored. */
const isOwnPath = (to: string): boolean => to.startsWith('/') && !to.startsWith('//') && !to.startsWith('/\\');
