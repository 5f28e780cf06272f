import type { ReactNode } from 'react';
import styles from './data-table.module.css';

/**
 * One column of a table. If the records have pages, the first column links to the page of the record. On phones, each row is a card that
 * shows the title of each visible column except the first.
 */
export interface Column<T> {
  title: string;
  cell: (item: T) => ReactNode;
  /** Aligns numbers to the right. */
  numeric?: boolean;
  /** The column fills the remaining width and wraps long text. */
  wide?: boolean;
  /** The cell fills a whole line of the card on phones. */
  line?: boolean;
  /** The column is hidden on phones and in narrow tables. */
  wideOnly?: boolean;
}

/** A table of records. `label` names it for screen readers. */
export function DataTable<T>(props: {
  label: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  keyOf: (item: T) => string;
  dimmed?: boolean;
}) {
  const { label, columns, items, keyOf, dimmed = false } = props;
  return (
    <div className={styles.scroll}>
      <table className={styles.table} data-dimmed={dimmed || undefined} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, numeric, wide, wideOnly }) => (
              <th key={title} scope="col" data-numeric={numeric} data-wide={wide} data-wide-only={wideOnly}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map(({ title, cell, numeric, wide, line, wideOnly }, index) => (
                <td
                  key={title}
                  data-title={index === 0 ? undefined : title}
                  data-numeric={numeric}
                  data-wide={wide}
                  data-line={line}
                  data-wide-only={wideOnly}
                >
                  {cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The class of a link in the first column that makes the whole row clickable. */
export const rowLink = styles.rowLink as string;
