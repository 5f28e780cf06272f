import type { ReactNode } from 'react';
import styles from './property-list.module.css';

/** A list of names and values. Leaves out undefined values, and shows nothing if none is left. `wide`: one property per line. */
export function PropertyList({
  facts,
  wide = false,
}: {
  facts: readonly (readonly [name: string, value: ReactNode])[];
  wide?: boolean;
}) {
  const shown = facts.filter(([, value]) => value !== undefined);
  if (shown.length === 0) return null;
  return (
    <dl className={styles.facts} data-wide={wide || undefined}>
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
