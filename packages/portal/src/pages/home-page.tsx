import { Link, Navigate } from '@tanstack/react-router';
import { toProblem } from '../api/problem.ts';
import { useSession } from '../api/session.ts';
import { Notice } from '../components/notice.tsx';
import { ProblemNotice } from '../components/problem-notice.tsx';
import { lastWorkspace } from '../shell/last-workspace.ts';
import { LoadingScreen } from '../shell/loading-screen.tsx';
import { PublicPage } from './sign-in/public-page.tsx';

/** `/`: on to the workspace that was looked at last, or the only one there is. */
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
  const last = lastWorkspace();
  const chosen = memberships.find(({ workspace }) => workspace.id === last) ?? memberships[0];
  if (chosen !== undefined) return <Navigate to="/w/$workspace" params={{ workspace: chosen.workspace.id }} replace />;
  return (
    <PublicPage title="No workspace yet">
      <Notice kind="quiet">
        <p>You belong to no workspace. Ask an admin of one to invite {session.data.person.email}.</p>
      </Notice>
      <Link to="/account">Your account</Link>
    </PublicPage>
  );
}
