import { CopyButton } from './copy-button.tsx';
import styles from './identifier.module.css';

/** A hash or an id: its beginning where there is little room (`short`), the whole on hover, and a button that copies it. */
export function Identifier({ value, what, short }: { value: string | null; what: string; short?: number }) {
  if (value === null) return <span className="faint">none</span>;
  const cut = short !== undefined && value.length > short + 1;
  return (
    <span className={styles.identifier}>
      <code className={cut ? 'nowrap' : 'break'} {...(cut ? { 'data-hint': value } : {})}>
        {cut ? `${value.slice(0, short)}…` : value}
      </code>
      <CopyButton text={value} what={what} />
    </span>
  );
}
