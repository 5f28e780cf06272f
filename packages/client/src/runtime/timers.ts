/** A timer that does not keep the process alive, on runtimes where timers do. Returns how to end it. */
export function backgroundTimer(work: () => void, ms: number): () => void {
  const timer: unknown = setTimeout(work, ms);
  const runtime = globalThis as { Deno?: { unrefTimer?: (id: unknown) => void } };
  if (typeof timer === 'object') (timer as { unref?: () => void }).unref?.();
  else runtime.Deno?.unrefTimer?.(timer);
  return () => clearTimeout(timer as number);
}

/** Runs work soon, after what the host does now: in Node before it waits for anything else. */
export const soon: (work: () => void) => void =
  typeof setImmediate === 'function' ? (work) => void setImmediate(work) : (work) => void setTimeout(work, 0);
