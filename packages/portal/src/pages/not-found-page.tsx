import { Link } from '@tanstack/react-router';
import { PublicPage } from './sign-in/public-page.tsx';

/** An address that leads nowhere. */
export function NotFoundPage() {
  return (
    <PublicPage title="There is no such page">
      <p className="soft">The address may be cut off, or from an older version.</p>
      <Link to="/">To your workspaces</Link>
    </PublicPage>
  );
}
