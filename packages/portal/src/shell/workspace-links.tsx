import type { Session } from '../api/session.ts';

/** Links to the person's workspaces, on pages outside a workspace and on the page of a workspace that was not found. */
export const WorkspaceLinks = ({ memberships }: { memberships: Session['memberships'] }) => (
  <nav aria-label="Workspaces">
    <h2 className="visually-hidden">Your workspaces</h2>
    <ul className="stack tight">
      {memberships.map(({ workspace }) => (
        <li key={workspace.id}>
          <a href={`/w/${workspace.id}`}>← {workspace.name}</a>
        </li>
      ))}
    </ul>
  </nav>
);
