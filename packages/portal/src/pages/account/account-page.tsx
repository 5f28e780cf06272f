import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { toProblem } from '../../api/problem.ts';
import { sessionQuery, useSession } from '../../api/session.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { DataTable } from '../../lists/data-table.tsx';
import { TableSkeleton } from '../../lists/table-skeleton.tsx';
import { toast } from '../../toasts/toasts.tsx';
import styles from './account-page.module.css';
import { browserName } from './browser-name.ts';

/** The account of the signed-in person: name, password and sessions. */
export function AccountPage() {
  const person = useSession().data?.person;
  if (person === undefined) return null;
  return (
    <>
      <PageHeader title="Account" lead={person.email} />
      <div className={styles.columns}>
        <Panel title="Name">
          <RenameForm name={person.name} />
        </Panel>
        {person.has_password ? (
          <Panel title="Password" note="Changing your password ends all your other sessions.">
            <ChangePasswordForm />
          </Panel>
        ) : (
          <Panel title="Password">
            <p>
              You have no password yet. Ask someone who is an admin of all your workspaces, or the operator, for a password reset
              link.
            </p>
          </Panel>
        )}
      </div>
      <Sessions />
    </>
  );
}

function RenameForm({ name: currentName }: { name: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState(currentName);
  const mutation = useMutation({
    mutationFn: () => call('account.rename', { body: { name: name.trim() } }),
    meta: { errorShownInForm: true },
    onSuccess: (session) => {
      queries.setQueryData(sessionQuery.queryKey, session);
      toast.done('Name changed.');
    },
  });
  return (
    <Form onSubmit={() => mutation.mutate()} error={mutation.error} fields={['name']} pending={mutation.isPending} submit="Save">
      <TextInput
        label="Display name"
        autoComplete="name"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={fieldError(mutation.error, 'name')}
      />
    </Form>
  );
}

function ChangePasswordForm() {
  const queries = useQueryClient();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const mutation = useMutation({
    mutationFn: () => call('account.change_password', { body: { current_password: current, new_password: next } }),
    meta: { errorShownInForm: true },
    onSuccess: async () => {
      setCurrent('');
      setNext('');
      toast.done('Password changed. Your other sessions have ended.');
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  const isWrongPassword = mutation.isError && toProblem(mutation.error).kind === 'wrong-password';
  return (
    <Form
      onSubmit={() => mutation.mutate()}
      error={isWrongPassword ? undefined : mutation.error}
      fields={['current_password', 'new_password']}
      pending={mutation.isPending}
      submit="Change password"
    >
      <PasswordInput
        label="Current password"
        autoComplete="current-password"
        value={current}
        onChange={({ currentTarget }) => setCurrent(currentTarget.value)}
        error={isWrongPassword ? 'Wrong password.' : fieldError(mutation.error, 'current_password')}
        aria-invalid={(isWrongPassword ? 'Wrong password.' : fieldError(mutation.error, 'current_password')) !== undefined}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the current password' }}
      />
      <PasswordInput
        label="New password"
        description="At least 12 characters."
        autoComplete="new-password"
        value={next}
        onChange={({ currentTarget }) => setNext(currentTarget.value)}
        error={fieldError(mutation.error, 'new_password')}
        aria-invalid={fieldError(mutation.error, 'new_password') !== undefined}
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the new password' }}
      />
    </Form>
  );
}

function Sessions() {
  const queries = useQueryClient();
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: ({ signal }) => call('sessions.list', { signal }) });
  const endSession = useMutation({
    mutationFn: (session: string) => call('sessions.end', { params: { session } }),
    onSuccess: async () => {
      toast.done('Session ended.');
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <Panel
      title="Sessions"
      note="Browsers where you are signed in, at most the newest 200. If you do not recognize a session, end it and change your password."
      flush
    >
      {sessions.isError ? (
        <ProblemNotice problem={sessions.error} retry={() => void sessions.refetch()} />
      ) : sessions.data === undefined ? (
        <TableSkeleton columns={4} />
      ) : (
        <DataTable
          label="Sessions"
          items={sessions.data.items}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Browser',
              wide: true,
              cell: ({ user_agent, current }) => (
                <span data-hint={user_agent ?? undefined}>
                  {browserName(user_agent)}
                  {current && <strong> · this session</strong>}
                </span>
              ),
            },
            { title: 'Signed in', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
            { title: 'Last used', cell: ({ last_used_at }) => <RelativeTime at={last_used_at} /> },
            { title: 'Ends', cell: ({ expires_at }) => <RelativeTime at={expires_at} /> },
            {
              title: 'Actions',
              cell: ({ id, current }) =>
                current ? (
                  <span className="faint">–</span>
                ) : (
                  <Button variant="default" size="compact-xs" onClick={() => endSession.mutate(id)}>
                    End
                  </Button>
                ),
            },
          ]}
        />
      )}
    </Panel>
  );
}
