import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { membersQuery } from '../api/people.ts';
import { useHere, useMay } from '../api/session.ts';
import styles from './who.module.css';

/** Who wrote or decided something, from `user:<id>`, `key:<prefix>`, `operator` or `system:…`: a name where there is one. */
export function Who({ by }: { by: string | null }) {
  const { workspace, person } = useHere();
  const admin = useMay('admin');
  const id = by?.startsWith('user:') ? by.slice(5) : undefined;
  const members = useQuery({ ...membersQuery(workspace.id), enabled: id !== undefined }).data?.items;
  if (by === null) return <span className="faint">–</span>;
  if (id !== undefined) {
    const name =
      id === person.id ? `${person.name} (you)` : (members?.find(({ person_id }) => person_id === id)?.name ?? 'a former member');
    return (
      <span className={styles.person} data-hint={`${name}, ${by}`}>
        {name}
      </span>
    );
  }
  if (by.startsWith('key:')) {
    const prefix = <code>{by.slice(4)}</code>;
    return (
      <span className="nowrap">
        key{' '}
        {admin ? (
          <Link to="/w/$workspace/keys" params={{ workspace: workspace.id }}>
            {prefix}
          </Link>
        ) : (
          prefix
        )}
      </span>
    );
  }
  if (by === 'operator')
    return (
      <span className="nowrap" data-hint="By the command line of the server">
        operator
      </span>
    );
  return <span className="nowrap">{by.replace('system:', '').replaceAll('-', ' ')}</span>;
}
