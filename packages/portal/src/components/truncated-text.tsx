import styles from './truncated-text.module.css';

/**
 * A name from elsewhere. In a table it is cut where it is long, so that no row moves the columns for all; the whole one is its hint.
 * `long`: there is room for a name of two words and more.
 */
export const TruncatedText = ({ text, hint = text, long }: { text: string; hint?: string; long?: boolean }) => (
  <span className={styles.cut} dir="auto" data-hint={hint} data-long={long}>
    {text}
  </span>
);
