import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { queryClient } from '../../api/query-client.ts';
import { sessionQuery } from '../../api/session.ts';
import { announceSessionChange } from '../../api/session-channel.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { AcceptInvitation, type LinkFormProps, ResetPassword, SetUp, SignInByLink } from './link-forms.tsx';
import { PublicPage } from './public-page.tsx';

type OneTimeLink = ResponseBody<'links.show'>;

const TITLES: Record<OneTimeLink['purpose'], string> = {
  set_up: 'Set up Countersign',
  invitation: 'Join a workspace',
  password_reset: 'Set a new password',
  sign_in: 'Sign in with a link',
};

/**
 * Calls the listener when the fragment changes. If a person pastes another link into the address bar, only the fragment changes, so the
 * browser does not load the page again.
 */
const subscribeToHash = (listener: () => void) => {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
};

/** The token after the #, with percent-encoding decoded. A token with invalid percent-encoding is returned unchanged. */
function readToken(): string {
  const text = window.location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `/link#…`: the form for a one-time link. The token is in the fragment, so it does not appear in server logs. */
export function LinkPage() {
  const token = useSyncExternalStore(subscribeToHash, readToken);
  const navigate = useNavigate();
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: ({ signal }) => call('links.show', { body: { token }, signal }),
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  const openWorkspace = ({ workspace_id: workspace, ...session }: ResponseBody<'links.sign_in'>) => {
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
        <LinkForm key={token} link={link.data} token={token} onSignedIn={openWorkspace} />
      </PublicPage>
    );
  }
  return (
    <PublicPage title="One-time link">
      {token === '' ? (
        <p className="soft">The link is incomplete: the part after # is missing. Open the full link.</p>
      ) : link.isError ? (
        <ProblemNotice problem={link.error} retry={() => void link.refetch()} />
      ) : (
        <BlockSkeleton />
      )}
      <Link to="/sign-in">Go to sign-in</Link>
    </PublicPage>
  );
}

function LinkForm(props: LinkFormProps) {
  switch (props.link.purpose) {
    case 'set_up':
      return <SetUp {...props} />;
    case 'invitation':
      return <AcceptInvitation {...props} />;
    case 'password_reset':
      return <ResetPassword {...props} />;
    case 'sign_in':
      return <SignInByLink {...props} />;
  }
}
