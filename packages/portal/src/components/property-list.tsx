import type { ReactNode } from 'react';
import styles from './property-list.module.css';

/** A list of names and values. Properties with an undefined value are left out. `wide` shows one property per line. */
export function PropertyList({
  facts,
  wide = false,
}: {
  facts: readonly (readonly [name: string, value: ReactNode])[];
  wide?: boolean;
}) {
  return (
    <dl className={styles.facts} data-wide={wide || undefined}>
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
