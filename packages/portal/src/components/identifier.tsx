import { CopyButton } from './copy-button.tsx';
import styles from './identifier.module.css';

/** A hash or an ID with a copy button. If `shownCharacters` is set, a longer value is truncated, and the full value is shown on hover. */
export function Identifier({ value, what, shownCharacters }: { value: string | null; what: string; shownCharacters?: number }) {
  if (value === null) return <span className="faint">none</span>;
  const isTruncated = shownCharacters !== undefined && value.length > shownCharacters + 1;
  return (
    <span className={styles.identifier}>
      <code className={isTruncated ? 'nowrap' : 'break'} {...(isTruncated ? { 'data-hint': value } : {})}>
        {isTruncated ? `${value.slice(0, shownCharacters)}…` : value}
      </code>
      <CopyButton text={value} what={what} />
    </span>
  );
}
