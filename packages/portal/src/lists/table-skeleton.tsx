import styles from './table-skeleton.module.css';

const ROWS = [0, 1, 2, 3, 4, 5, 6, 7];

/** The shape of a table that is on its way. */
export function TableSkeleton({ columns }: { columns: number }) {
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {ROWS.map((row) => (
        <div key={row} style={{ gridTemplateColumns: `2fr repeat(${Math.max(columns - 1, 1)}, 1fr)` }}>
          {Array.from({ length: columns }, (_each, column) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: bars have no other name than their place.
            <span key={column} style={{ width: `${50 + ((row * 31 + column * 17) % 40)}%` }} />
          ))}
        </div>
      ))}
    </div>
  );
}

/** A block that is on its way. */
export const BlockSkeleton = ({ height = 120 }: { height?: number }) => (
  <div className={styles.block} style={{ height }} role="status" aria-label="Loading" />
);
