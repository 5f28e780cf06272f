import { Link, Navigate } from '@tanstack/react-router';
import { toProblem } from '../api/problem.ts';
import { useSession } from '../api/session.ts';
import { Notice } from '../components/notice.tsx';
import { ProblemNotice } from '../components/problem-notice.tsx';
import { readLastWorkspaceId } from '../shell/last-workspace.ts';
import { LoadingScreen } from '../shell/loading-screen.tsx';
import { PublicPage } from './sign-in/public-page.tsx';

/** The page `/`: redirects to the last visited workspace, or else to the first workspace. Without a membership, it shows a notice. */
export function HomePage() {
  const session = useSession();
  if (session.data === undefined) {
    if (session.isPending || toProblem(session.error).kind === 'signed-out') return <LoadingScreen />;
    return (
      <PublicPage title="Countersign">
        <ProblemNotice problem={session.error} retry={() => void session.refetch()} />
      </PublicPage>
    );
  }
  const { memberships } = session.data;
  const lastId = readLastWorkspaceId();
  const membership = memberships.find(({ workspace }) => workspace.id === lastId) ?? memberships[0];
  if (membership !== undefined) return <Navigate to="/w/$workspace" params={{ workspace: membership.workspace.id }} replace />;
  return (
    <PublicPage title="No workspace yet">
      <Notice kind="quiet">
        <p>You are not a member of any workspace. Ask an admin to invite {session.data.person.email}.</p>
      </Notice>
      <Link to="/account">Your account</Link>
    </PublicPage>
  );
}
