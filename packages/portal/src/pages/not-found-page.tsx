import { Link } from '@tanstack/react-router';
import { PublicPage } from './sign-in/public-page.tsx';

/** Shown for a URL without a page. */
export function NotFoundPage() {
  return (
    <PublicPage title="Page not found">
      <p className="soft">The URL may be incomplete or out of date.</p>
      <Link to="/">Go to your workspaces</Link>
    </PublicPage>
  );
}
