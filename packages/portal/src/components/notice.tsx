import type { ReactNode } from 'react';
import styles from './notice.module.css';

/** A message block on a page: a problem, a warning, a success or a neutral note. */
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
