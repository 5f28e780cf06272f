import type { ReactNode } from 'react';
import styles from './data-table.module.css';

/** One column. The first one leads to the row's page; at phone width rows become cards and `title` stands before each value. */
export interface Column<T> {
  title: string;
  cell: (item: T) => ReactNode;
  /** Figures stand to the right. */
  numeric?: boolean;
  /** Takes the room that is left; what is longer than that is broken into lines. */
  wide?: boolean;
  /** Takes a whole line of the cards at phone width. */
  line?: boolean;
  /** Left out of the cards at phone width. */
  wideOnly?: boolean;
}

/** A table of records. `label` says to screen readers what it lists. */
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
            {columns.map(({ title, numeric, wide }) => (
              <th key={title} scope="col" data-numeric={numeric} data-wide={wide}>
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

/** The class of the link in the first column: all of the row leads there. */
export const rowLink = styles.rowLink as string;
