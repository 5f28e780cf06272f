import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { queryClient } from '../../api/query-client.ts';
import { sessionQuery } from '../../api/session.ts';
import { announceSessionChange } from '../../api/session-channel.ts';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { AcceptInvitation, ResetPassword, SetUp, SignInByLink } from './link-forms.tsx';
import { PublicPage } from './public-page.tsx';

export type ShownLink = ResponseBody<'links.show'>;
/** What a form of this page needs: the link, its secret, and where to go when it is used. */
export interface LinkFormProps {
  link: ShownLink;
  token: string;
  signedIn: (answer: ResponseBody<'links.sign_in'>) => void;
}

const TITLES: Record<ShownLink['purpose'], string> = {
  set_up: 'Set up Countersign',
  invitation: 'Join a workspace',
  password_reset: 'Set a new password',
  sign_in: 'Sign in by link',
};

/** A second link that is pasted over the first changes the fragment alone: the page stays. */
const onAnotherLink = (heard: () => void) => {
  window.addEventListener('hashchange', heard);
  return () => window.removeEventListener('hashchange', heard);
};

/** What stands behind the #; as it is where it is no address's text: a link that was never given out. */
function tokenOfAddress(): string {
  const text = window.location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `/link#…`: what a one-time link is for, and the form that uses it. The secret stays in the fragment, which no server's log sees. */
export function LinkPage() {
  const token = useSyncExternalStore(onAnotherLink, tokenOfAddress);
  const navigate = useNavigate();
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: ({ signal }) => call('links.show', { body: { token }, signal }),
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  const signedIn = ({ workspace_id: workspace, ...session }: ResponseBody<'links.sign_in'>) => {
    queryClient.clear();
    queryClient.setQueryData(sessionQuery.queryKey, session);
    announceSessionChange();
    void (workspace === null
      ? navigate({ to: '/', replace: true })
      : navigate({ to: '/w/$workspace', params: { workspace }, replace: true }));
  };
  if (link.data !== undefined) {
    return (
      <PublicPage title={TITLES[link.data.purpose]}>
        <LinkForm key={token} link={link.data} token={token} signedIn={signedIn} />
      </PublicPage>
    );
  }
  return (
    <PublicPage title="One-time link">
      {token === '' ? (
        <p className="soft">The address is not whole: behind the # stands nothing. Open the link as it was given to you.</p>
      ) : link.isError ? (
        <ProblemNotice problem={link.error} retry={() => void link.refetch()} />
      ) : (
        <BlockSkeleton />
      )}
      <Link to="/sign-in">To the sign-in</Link>
    </PublicPage>
  );
}

function LinkForm(use: LinkFormProps) {
  switch (use.link.purpose) {
    case 'set_up':
      return <SetUp {...use} />;
    case 'invitation':
      return <AcceptInvitation {...use} />;
    case 'password_reset':
      return <ResetPassword {...use} />;
    case 'sign_in':
      return <SignInByLink {...use} />;
  }
}
