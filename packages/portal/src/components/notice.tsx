import type { ReactNode } from 'react';
import styles from './notice.module.css';

/** A block that says something about the page: a problem, a warning, good news, or a quiet remark. */
export function Notice(props: {
  kind: 'problem' | 'warning' | 'good' | 'quiet';
  title?: ReactNode;
  role?: 'alert' | 'status';
  children?: ReactNode;
}) {
  const { kind, title, role, children } = props;
  return (
    <div className={styles.notice} data-kind={kind} role={role}>
      {title !== undefined && <strong>{title}</strong>}
      {children}
    </div>
  );
}
