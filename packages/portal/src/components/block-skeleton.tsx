import styles from './block-skeleton.module.css';

/** A placeholder while a block loads. */
export const BlockSkeleton = ({ heightPx = 120 }: { heightPx?: number }) => (
  <div className={styles.block} style={{ height: heightPx }} role="status" aria-label="Loading" />
);
