import { Link } from '@tanstack/react-router';
import { PageHeader } from '../components/page-header.tsx';
import { PublicPage } from './sign-in/public-page.tsx';

const LEAD = 'The URL may be incomplete or out of date.';

/** Shown outside a workspace if no page has the URL. */
export function NotFoundPage() {
  return (
    <PublicPage title="Page not found">
      <p className="soft">{LEAD}</p>
      <Link to="/">Go to your workspaces</Link>
    </PublicPage>
  );
}

/** Shown in the frame of a workspace if no page of the workspace has the URL. */
export const NotFoundInWorkspace = () => <PageHeader title="Page not found" lead={LEAD} />;
