import { Link, Navigate } from '@tanstack/react-router';
import { asProblem } from '../api/problem.ts';
import { useSession } from '../api/session.ts';
import { Notice } from '../pieces/notice.tsx';
import { ProblemNotice } from '../pieces/problem-notice.tsx';
import { Arriving } from '../shell/arriving.tsx';
import { lastWorkspace } from '../shell/last-workspace.ts';
import { EntrancePage } from './sign-in/entrance-page.tsx';

/** `/`: on to the workspace that was looked at last, or the only one there is. */
export function HomePage() {
  const session = useSession();
  if (session.data === undefined) {
    if (session.isPending || asProblem(session.error).kind === 'signed-out') return <Arriving />;
    return (
      <EntrancePage title="Countersign">
        <ProblemNotice problem={session.error} retry={() => void session.refetch()} />
      </EntrancePage>
    );
  }
  const { memberships } = session.data;
  const last = lastWorkspace();
  const chosen = memberships.find(({ workspace }) => workspace.id === last) ?? memberships[0];
  if (chosen !== undefined) return <Navigate to="/w/$workspace" params={{ workspace: chosen.workspace.id }} replace />;
  return (
    <EntrancePage title="No workspace yet">
      <Notice kind="quiet">
        <p>You belong to no workspace. Ask an admin of one to invite {session.data.person.email}.</p>
      </Notice>
      <Link to="/account">Your account</Link>
    </EntrancePage>
  );
}
