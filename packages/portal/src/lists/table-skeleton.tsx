import styles from './table-skeleton.module.css';

const ROWS = [0, 1, 2, 3, 4, 5, 6, 7];

/** A placeholder while a table loads. */
export function TableSkeleton({ columns }: { columns: number }) {
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {ROWS.map((row) => (
        <div key={row} style={{ gridTemplateColumns: `2fr repeat(${Math.max(columns - 1, 1)}, 1fr)` }}>
          {Array.from({ length: columns }, (_each, column) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: bars have no key other than their index.
            <span key={column} style={{ width: `${50 + ((row * 31 + column * 17) % 40)}%` }} />
          ))}
        </div>
      ))}
    </div>
  );
}
