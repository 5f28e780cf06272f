import { type ReactNode, useEffect } from 'react';
import { ColorSchemeToggle } from '../../shell/color-scheme-toggle.tsx';
import { Wordmark } from '../../shell/wordmark.tsx';
import styles from './public-page.module.css';

/** The layout of pages outside a workspace, such as sign-in, one-time links and page not found. */
export function PublicPage({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Countersign`;
  }, [title]);
  return (
    <main className={styles.page}>
      <div className={styles.column}>
        <header className={styles.head}>
          <Wordmark size={28} />
          <ColorSchemeToggle />
        </header>
        <div className={styles.card}>
          <h1>{title}</h1>
          {lead !== undefined && <p className="soft">{lead}</p>}
          {children}
        </div>
        <p className={styles.foot}>
          The governance ledger for AI agents. Agents are promoted only with a recent passing evaluation.
        </p>
      </div>
    </main>
  );
}
