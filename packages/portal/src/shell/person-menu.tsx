import { Menu } from '@mantine/core';
import { IconDotsVertical, IconLogout, IconUserCircle } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api/call.ts';
import { queryClient } from '../api/query-client.ts';
import type { Session } from '../api/session.ts';
import { announceSessionChange } from '../api/session-channel.ts';
import styles from './person-menu.module.css';

/** The menu of the signed-in person: account and sign-out. */
export function PersonMenu({ person }: { person: Session['person'] }) {
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: () => call('session.sign_out', {}),
    onSuccess: async () => {
      await navigate({ to: '/sign-in' });
      queryClient.clear();
      announceSessionChange();
    },
  });
  return (
    <Menu position="top-start" width={200}>
      <Menu.Target>
        <button type="button" className={styles.person}>
          <span>
            <span className="visually-hidden">Account and sign out: </span>
            <strong>{person.name}</strong>
            <small>{person.email}</small>
          </span>
          <IconDotsVertical size={16} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconUserCircle size={16} aria-hidden />} onClick={() => void navigate({ to: '/account' })}>
          Account
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => signOut.mutate()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
