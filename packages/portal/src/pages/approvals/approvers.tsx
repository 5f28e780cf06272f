import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { membersQuery } from '../../api/people.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { Notice } from '../../components/notice.tsx';

/** At most this many approvers and admins are named. */
const NAMED_MAX = 5;

/** Tells viewers which members can approve. Shows nothing to approvers and admins. */
export function Approvers() {
  const { workspace } = useWorkspace();
  const isApprover = useHasRole('approver');
  const members = useQuery({ ...membersQuery(workspace.id), enabled: !isApprover }).data?.items;
  if (isApprover || members === undefined) return null;
  // Approvers come before admins, because approving is the task of approvers.
  const eligibleMembers = [
    ...members.filter(({ role }) => role === 'approver'),
    ...members.filter(({ role }) => role === 'admin'),
  ];
  if (eligibleMembers.length === 0) return null;
  const unnamedCount = eligibleMembers.length - NAMED_MAX;
  return (
    <Notice kind="quiet">
      <p>
        As a viewer, you cannot approve or reject this evaluation. Ask one of these members:{' '}
        {eligibleMembers.slice(0, NAMED_MAX).map(({ person_id, name, email }, index) => (
          <span key={person_id}>
            {index > 0 && ', '}
            <bdi>{name}</bdi> ({email})
          </span>
        ))}
        {unnamedCount > 0 && `, and ${unnamedCount} more`}.{' '}
        <Link to="/w/$workspace/members" params={{ workspace: workspace.id }}>
          All members
        </Link>
      </p>
    </Notice>
  );
}
