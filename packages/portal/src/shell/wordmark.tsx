import styles from './wordmark.module.css';

/** The logo: two overlapping check marks. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg className={styles.mark} width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path className={styles.first} d="M6.5 17.2l5 5L21 10.4" />
      <path className={styles.second} d="M15.6 19.6l2.7 2.6 8-9.8" />
    </svg>
  );
}

/** The logo and the name. */
export function Wordmark({ size = 24 }: { size?: number }) {
  return (
    <span className={styles.wordmark}>
      <Mark size={size} />
      <span>Countersign</span>
    </span>
  );
}
