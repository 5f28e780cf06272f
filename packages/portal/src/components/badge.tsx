import type { ReactNode } from 'react';
import styles from './badge.module.css';

export type Tone = 'good' | 'bad' | 'warn' | 'accent' | 'quiet';

/** A label with a short text for a state. The color only repeats what the text says. */
export function Badge({ tone, dot = true, children }: { tone: Tone; dot?: boolean; children: ReactNode }) {
  return (
    <span className={styles.badge} data-tone={tone}>
      {dot && <span className={styles.dot} aria-hidden="true" />}
      {children}
    </span>
  );
}
