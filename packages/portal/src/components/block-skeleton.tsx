import styles from './block-skeleton.module.css';

/** A placeholder while a block loads. */
export const BlockSkeleton = ({ height = 120 }: { height?: number }) => (
  <div className={styles.block} style={{ height }} role="status" aria-label="Loading" />
);
