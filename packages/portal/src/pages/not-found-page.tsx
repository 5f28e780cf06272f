import { Link } from '@tanstack/react-router';
import { PageHeader } from '../components/page-header.tsx';
import { PublicPage } from './sign-in/public-page.tsx';

const LEAD = 'The URL may be incomplete or out of date.';

/** Shown for a URL without a page, outside a workspace. */
export function NotFoundPage() {
  return (
    <PublicPage title="Page not found">
      <p className="soft">{LEAD}</p>
      <Link to="/">Go to your workspaces</Link>
    </PublicPage>
  );
}

/** Shown in the frame of a workspace for a URL of this workspace without a page. */
export const NotFoundInWorkspace = () => <PageHeader title="Page not found" lead={LEAD} />;
