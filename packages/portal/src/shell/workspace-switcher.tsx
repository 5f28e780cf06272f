import { Menu } from '@mantine/core';
import { IconCheck, IconSelector } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useSession, useWorkspace } from '../api/session.ts';
import styles from './workspace-switcher.module.css';

/** Shows the current workspace and switches to another one. */
export function WorkspaceSwitcher() {
  const { workspace, role } = useWorkspace();
  const memberships = useSession().data?.memberships ?? [];
  const navigate = useNavigate();
  return (
    <Menu width={232} position="bottom-start">
      <Menu.Target>
        <button type="button" className={styles.switcher}>
          <span className={styles.initial} aria-hidden data-initial={[...workspace.name].at(0)?.toUpperCase()} />
          <span className={styles.name}>
            <span className="visually-hidden">Workspace </span>
            <strong>{workspace.name}</strong>
            <small>{role}</small>
          </span>
          <IconSelector size={16} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Your workspaces</Menu.Label>
        {memberships.map((each) => (
          <Menu.Item
            key={each.workspace.id}
            aria-current={each.workspace.id === workspace.id}
            rightSection={each.workspace.id === workspace.id && <IconCheck size={15} aria-hidden />}
            onClick={() => void navigate({ to: '/w/$workspace', params: { workspace: each.workspace.id } })}
          >
            {each.workspace.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
