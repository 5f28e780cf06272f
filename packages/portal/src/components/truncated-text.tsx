import styles from './truncated-text.module.css';

/**
 * A text that a sender or a person chose. Tables truncate long texts, so that one row cannot widen a column. The hint is the full text
 * by default. `long` allows more characters.
 */
export const TruncatedText = ({ text, hint = text, long }: { text: string; hint?: string; long?: boolean }) => (
  <span className={styles.cut} dir="auto" data-hint={hint} data-long={long}>
    {text}
  </span>
);
