import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { keyNameQuery, membersQuery } from '../api/people.ts';
import { useHasRole, useWorkspace } from '../api/session.ts';
import { TruncatedText } from './truncated-text.tsx';

/** Who wrote or decided something, from `user:<id>`, `key:<prefix>`, `operator` or `system:…`: a name where there is one. */
export function Actor({ by }: { by: string | null }) {
  const { workspace, person } = useWorkspace();
  const id = by?.startsWith('user:') ? by.slice(5) : undefined;
  const members = useQuery({ ...membersQuery(workspace.id), enabled: id !== undefined }).data?.items;
  if (by === null) return <span className="faint">–</span>;
  if (id !== undefined) {
    const member = members?.find(({ person_id }) => person_id === id);
    const name = id === person.id ? `${person.name} (you)` : (member?.name ?? 'a former member');
    // Two of one name are told apart by what nobody shares.
    const isShared = members?.some(({ name: other, person_id }) => person_id !== id && other === member?.name) === true;
    const shown = isShared ? `${name}, ${member!.email}` : name;
    return <TruncatedText text={shown} hint={`${shown}, ${by}`} />;
  }
  if (by.startsWith('key:')) return <KeyActor prefix={by.slice(4)} />;
  if (by === 'operator')
    return (
      <span className="nowrap" data-hint="By the command line of the server">
        operator
      </span>
    );
  return <span className="nowrap">{by.replace('system:', '').replaceAll('-', ' ')}</span>;
}

/** A key by its name; by its prefix alone while that is on its way, and where nobody knows it. Admins are led to all keys. */
function KeyActor({ prefix }: { prefix: string }) {
  const { workspace } = useWorkspace();
  const admin = useHasRole('admin');
  const name = useQuery(keyNameQuery(workspace.id, prefix)).data?.name;
  const shown = name === undefined ? <code>{prefix}</code> : <TruncatedText text={name} hint={`${name}, key ${prefix}`} />;
  return (
    <span className="nowrap">
      key{' '}
      {admin ? (
        <Link to="/w/$workspace/keys" params={{ workspace: workspace.id }}>
          {shown}
        </Link>
      ) : (
        shown
      )}
    </span>
  );
}
