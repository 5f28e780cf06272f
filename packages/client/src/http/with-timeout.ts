import { timerMs } from '../runtime/timers.ts';
import { TimeoutError } from './errors.ts';

/**
 * Runs work with a signal that is aborted when the time is over or the caller's signal is aborted. The returned promise then rejects with
 * a TimeoutError or the caller's reason, even if the work ignores the signal.
 * @param timeoutMessage is called when the time is over.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  callerSignal: AbortSignal | undefined,
  timeoutMessage: () => string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (callerSignal?.aborted) throw callerSignal.reason;
  const controller = new AbortController();
  let end: (reason: unknown) => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
  });
  const abort = () => end(callerSignal?.reason);
  const timer = setTimeout(() => end(new TimeoutError(timeoutMessage())), timerMs(timeoutMs));
  callerSignal?.addEventListener('abort', abort, { once: true });
  try {
    const running = work(controller.signal);
    running.catch(() => undefined);
    return await Promise.race([running, ended]);
  } finally {
    clearTimeout(timer);
    callerSignal?.removeEventListener('abort', abort);
  }
}
