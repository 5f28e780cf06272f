/** The longest time that a timer supports: 24.8 days. A timer with a longer time fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Limits a time, which may be Infinity, to the longest time that a timer supports. */
export const timerMs = (ms: number): number => Math.min(ms, TIMER_MS_MAX);

/**
 * The time limit of `close`. The default applies if the requested limit is undefined or NaN. NaN is no error, because `close` never
 * rejects.
 */
export const closeLimitMs = (requestedMs: number | undefined, defaultMs: number): number =>
  requestedMs === undefined || Number.isNaN(requestedMs) ? defaultMs : requestedMs;

/** Starts a timer that does not keep the process alive. Returns a function that stops it. */
export function backgroundTimer(work: () => void, ms: number): () => void {
  const timer: unknown = setTimeout(work, timerMs(ms));
  const runtime = globalThis as { Deno?: { unrefTimer?: (id: unknown) => void } };
  if (typeof timer === 'object') (timer as { unref?: () => void }).unref?.();
  else runtime.Deno?.unrefTimer?.(timer);
  return () => clearTimeout(timer as number);
}

/** Waits up to a time limit for a promise. The promise must never reject. */
export async function waitAtMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timerMs(ms));
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}

/**
 * Runs work after the running code of the application has returned. Uses setImmediate where it exists, because a timer has a minimum
 * delay.
 */
export const runSoon: (work: () => void) => void =
  typeof setImmediate === 'function' ? (work) => void setImmediate(work) : (work) => void setTimeout(work, 0);
