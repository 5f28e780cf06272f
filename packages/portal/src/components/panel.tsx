import type { ReactNode } from 'react';
import styles from './panel.module.css';

/** A framed section of a page. `note` and `actions` are shown only with a `title`. `flush` removes the padding, for tables and lists. */
export function Panel(props: { title?: ReactNode; note?: ReactNode; actions?: ReactNode; flush?: boolean; children: ReactNode }) {
  const { title, note, actions, flush = false, children } = props;
  return (
    <section className={styles.panel}>
      {title !== undefined && (
        <div className={styles.head}>
          <div>
            <h2>{title}</h2>
            {note !== undefined && <p>{note}</p>}
          </div>
          {actions !== undefined && <div className="row">{actions}</div>}
        </div>
      )}
      <div className={flush ? styles.flush : styles.body}>{children}</div>
    </section>
  );
}
