import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { toProblem } from '../api/problem.ts';
import { useSession, WorkspaceContext } from '../api/session.ts';
import { PageHeader } from '../components/page-header.tsx';
import { ProblemNotice } from '../components/problem-notice.tsx';
import { Frame } from './frame.tsx';
import { storeLastWorkspaceId } from './last-workspace.ts';
import { LoadingScreen } from './loading-screen.tsx';
import { Navigation } from './navigation.tsx';
import { WorkspaceLinks } from './workspace-links.tsx';
import { WorkspaceSwitcher } from './workspace-switcher.tsx';

/** The frame of the pages of a workspace. It provides WorkspaceContext: the workspace of the URL, and the person with their role. */
export function WorkspaceFrame() {
  const { workspace: id } = useParams({ from: '/w/$workspace' });
  const session = useSession();
  const membership = session.data?.memberships.find(({ workspace }) => workspace.id === id);
  useEffect(() => {
    if (membership !== undefined) storeLastWorkspaceId(id);
  }, [membership, id]);
  if (session.isPending) return <LoadingScreen />;
  if (session.data === undefined) {
    const problem = toProblem(session.error);
    return problem.kind === 'signed-out' ? (
      <LoadingScreen />
    ) : (
      <ProblemNotice problem={problem} retry={() => void session.refetch()} />
    );
  }
  if (membership === undefined) {
    return (
      <Frame person={session.data.person} page={<NotAMember />}>
        {() => <WorkspaceLinks memberships={session.data.memberships} />}
      </Frame>
    );
  }
  return (
    <WorkspaceContext value={{ ...membership, person: session.data.person }}>
      <Frame person={session.data.person} top={<WorkspaceSwitcher />}>
        {(close) => <Navigation onNavigate={close} />}
      </Frame>
    </WorkspaceContext>
  );
}

/** Replaces the page if the person is not a member of the workspace in the URL, or if the workspace does not exist. */
const NotAMember = () => (
  <>
    <PageHeader title="Workspace not found" lead="You are not a member of this workspace, or it does not exist." />
    <Link to="/">Go to your workspaces</Link>
  </>
);

/** The frame of pages that belong to no workspace, such as the account page. */
export function PersonFrame() {
  const session = useSession();
  if (session.data === undefined) {
    const problem = toProblem(session.error);
    return session.isPending || problem.kind === 'signed-out' ? (
      <LoadingScreen />
    ) : (
      <ProblemNotice problem={problem} retry={() => void session.refetch()} />
    );
  }
  return <Frame person={session.data.person}>{() => <WorkspaceLinks memberships={session.data.memberships} />}</Frame>;
}
