import styles from './truncated-text.module.css';

/**
 * A text chosen by a sender. Tables truncate long texts, so that one row cannot widen a column; the hint shows the full text.
 * `long` allows more characters.
 */
export const TruncatedText = ({ text, hint = text, long }: { text: string; hint?: string; long?: boolean }) => (
  <span className={styles.cut} dir="auto" data-hint={hint} data-long={long}>
    {text}
  </span>
);
