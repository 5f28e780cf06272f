import { useSyncExternalStore } from 'react';
import { formatExactTime, formatRelativeTime } from './time-format.ts';

/** The interval of the timer that updates all relative times together. */
const TICK_MS = 30_000;
let now = Date.now();
const listeners = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  for (const listener of listeners) listener();
}, TICK_MS);

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/**
 * A relative time; null is shown as "never". The exact time is shown on hover and read by screen readers. The element is not a tab stop,
 * because a list would then have too many tab stops.
 */
export function RelativeTime({ at }: { at: string | null }) {
  const tickedAt = useSyncExternalStore(subscribe, () => now);
  if (at === null) return <span className="faint">never</span>;
  const exact = formatExactTime(at);
  return (
    <time className="nowrap" dateTime={at} data-hint={exact}>
      {formatRelativeTime(at, Math.max(tickedAt, Date.now() - TICK_MS))}
      <span className="visually-hidden"> ({exact})</span>
    </time>
  );
}
