import { useSyncExternalStore } from 'react';
import { formatExactTime, formatRelativeTime } from './time-format.ts';

/** One clock for all relative times: they are renewed together, each half minute. */
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

/** A moment, as long ago as it is; the exact one on hover, and in the text for screen readers. No tab stop: a list of times would be a hundred of them. */
export function RelativeTime({ at }: { at: string | null }) {
  const moment = useSyncExternalStore(subscribe, () => now);
  if (at === null) return <span className="faint">never</span>;
  const exact = formatExactTime(at);
  return (
    <time className="nowrap" dateTime={at} data-hint={exact}>
      {formatRelativeTime(at, Math.max(moment, Date.now() - TICK_MS))}
      <span className="visually-hidden"> ({exact})</span>
    </time>
  );
}
