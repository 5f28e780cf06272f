import { useMatch } from '@tanstack/react-router';
import { type ReactNode, use, useEffect, useRef } from 'react';
import { WorkspaceContext } from '../api/session.ts';
import styles from './page-header.module.css';

let pagesShown = 0;

/**
 * The title and the actions of a page. `headingContent` replaces `title` in the heading, but not in the document's title, which also
 * names the workspace. After a page change the heading gets the focus, so that a screen reader announces the page.
 */
export function PageHeader(props: {
  title: string;
  headingContent?: ReactNode;
  crumb?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
}) {
  const { title, headingContent = title, crumb, lead, actions } = props;
  const pathname = useMatch({ strict: false, select: (match) => match.pathname });
  const headingRef = useRef<HTMLHeadingElement>(null);
  const workspace = use(WorkspaceContext)?.workspace.name;
  useEffect(() => {
    document.title = [title, workspace, 'Countersign'].filter((part) => part !== undefined).join(' · ');
  }, [title, workspace]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the header can stay mounted when the path changes, if neither path has a page.
  useEffect(() => {
    if (pagesShown++ > 0) headingRef.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <header className={styles.header}>
      <div className={styles.text}>
        {crumb !== undefined && <div className={styles.crumb}>{crumb}</div>}
        <h1 ref={headingRef} tabIndex={-1}>
          {headingContent}
        </h1>
        {lead !== undefined && <div className={styles.lead}>{lead}</div>}
      </div>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </header>
  );
}
