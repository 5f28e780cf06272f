import { CopyButton } from './copy-button.tsx';
import styles from './identifier.module.css';

/** A hash or an ID with a copy button. `short` is the number of characters to show; the full value is then shown on hover. */
export function Identifier({ value, what, short }: { value: string | null; what: string; short?: number }) {
  if (value === null) return <span className="faint">none</span>;
  const isTruncated = short !== undefined && value.length > short + 1;
  return (
    <span className={styles.identifier}>
      <code className={isTruncated ? 'nowrap' : 'break'} {...(isTruncated ? { 'data-hint': value } : {})}>
        {isTruncated ? `${value.slice(0, short)}…` : value}
      </code>
      <CopyButton text={value} what={what} />
    </span>
  );
}
