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

/** The current time, accurate to about TICK_MS. Components that use it are updated together. */
const useNow = (): number =>
  Math.max(
    useSyncExternalStore(subscribe, () => now),
    Date.now() - TICK_MS,
  );

/**
 * A relative time; null is shown as "never". The exact time is shown on hover and read by screen readers. The element is not a tab stop,
 * because a list of records would have too many tab stops.
 */
export function RelativeTime({ at }: { at: string | null }) {
  const current = useNow();
  if (at === null) return <span className="faint">never</span>;
  const exact = formatExactTime(at);
  return (
    <time className="nowrap" dateTime={at} data-hint={exact}>
      <span>{formatRelativeTime(at, current)}</span>
      <span className="visually-hidden"> ({exact})</span>
    </time>
  );
}

/** An exact time, and the relative time in parentheses. Pages of one record use it, because touch screens show no hints. */
export function ExactTime({ at }: { at: string }) {
  const current = useNow();
  return (
    <time dateTime={at}>
      {formatExactTime(at)} <span className="faint nowrap">({formatRelativeTime(at, current)})</span>
    </time>
  );
}
