import { TimeoutError } from './errors.ts';

/**
 * Runs work with a signal that is aborted when the time is over or the caller's own signal is. Rejects with a TimeoutError then, or
 * with the caller's reason, whatever the work itself makes of its signal: an injected fetch may ignore it.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  overdue: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (outer?.aborted) throw outer.reason;
  const controller = new AbortController();
  let end: (reason: unknown) => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
  });
  const abort = () => end(outer?.reason);
  const timer = setTimeout(() => end(new TimeoutError(overdue)), timeoutMs);
  outer?.addEventListener('abort', abort, { once: true });
  try {
    const working = work(controller.signal);
    working.catch(() => undefined);
    return await Promise.race([working, ended]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}
