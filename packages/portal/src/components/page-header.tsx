import { type ReactNode, useEffect, useRef } from 'react';
import styles from './page-header.module.css';

let pagesShown = 0;

/** The page's title and actions. Takes the focus after a page change, so that a screen reader announces the page. */
export function PageHeader(props: {
  title: string;
  shown?: ReactNode;
  crumb?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
}) {
  const { title, shown = title, crumb, lead, actions } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Countersign`;
  }, [title]);
  useEffect(() => {
    if (pagesShown++ > 0) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className={styles.header}>
      <div className={styles.text}>
        {crumb !== undefined && <div className={styles.crumb}>{crumb}</div>}
        <h1 ref={heading} tabIndex={-1}>
          {shown}
        </h1>
        {lead !== undefined && <div className={styles.lead}>{lead}</div>}
      </div>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </header>
  );
}
