import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { keyNameQuery, membersQuery } from '../api/people.ts';
import { useHasRole, useWorkspace } from '../api/session.ts';
import { TruncatedText } from './truncated-text.tsx';

/**
 * Shows who wrote a record. `by` is `user:<id>`, `key:<prefix>`, `operator` or `system:…`; null is shown as a dash. Members and keys are
 * shown by name.
 */
export function Actor({ by }: { by: string | null }) {
  const { workspace, person } = useWorkspace();
  const id = by?.startsWith('user:') ? by.slice(5) : undefined;
  const members = useQuery({ ...membersQuery(workspace.id), enabled: id !== undefined }).data?.items;
  if (by === null) return <span className="faint">–</span>;
  if (id !== undefined) {
    const member = members?.find(({ person_id }) => person_id === id);
    const name =
      id === person.id ? `${person.name} (you)` : (member?.name ?? (members === undefined ? 'member' : 'former member'));
    // If another member has a name that looks the same, the email address is added.
    const isShared = members?.some((other) => other.person_id !== id && visibleName(other) === visibleName(member)) === true;
    const displayName = isShared ? `${name}, ${member!.email}` : name;
    return <TruncatedText text={displayName} hint={`${displayName}, ${by}`} />;
  }
  if (by.startsWith('key:')) return <KeyActor prefix={by.slice(4)} />;
  if (by === 'operator')
    return (
      <span className="nowrap" data-hint="Recorded with the server's command line">
        operator
      </span>
    );
  return <span className="nowrap">{by.replace('system:', '').replaceAll('-', ' ')}</span>;
}

/** The name of a member as it looks: normalized, with single spaces and without invisible characters. */
const visibleName = (member: { name: string } | undefined): string | undefined =>
  member?.name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/\s+/gu, ' ');

/** Shows a key by its name, or by its prefix if no name is loaded. Admins get a link to the page of the keys. */
function KeyActor({ prefix }: { prefix: string }) {
  const { workspace } = useWorkspace();
  const isAdmin = useHasRole('admin');
  const name = useQuery(keyNameQuery(workspace.id, prefix)).data?.name;
  const content = name === undefined ? <code>{prefix}</code> : <TruncatedText text={name} hint={`${name}, key ${prefix}`} />;
  return (
    <span className="nowrap">
      key{' '}
      {isAdmin ? (
        <Link to="/w/$workspace/keys" params={{ workspace: workspace.id }}>
          {content}
        </Link>
      ) : (
        content
      )}
    </span>
  );
}
