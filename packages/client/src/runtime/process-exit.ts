/** The part of `process` that reports an imminent exit. Node, Bun and Deno have it. */
interface EndingProcess {
  on(event: 'beforeExit', listener: () => void): unknown;
  off(event: 'beforeExit', listener: () => void): unknown;
}

const tasks = new Set<() => void>();

const runTasks = (): void => {
  for (const task of [...tasks]) task();
};

/**
 * Runs a task when the process is about to exit by itself, but not after `process.exit()` or a signal. The process waits for work that
 * the task starts. All clients share one listener. Returns a function that cancels the task.
 */
export function runBeforeExit(task: () => void): () => void {
  const { process } = globalThis as { process?: Partial<EndingProcess> };
  if (typeof process?.on !== 'function' || typeof process.off !== 'function') return () => undefined;
  if (tasks.size === 0) process.on('beforeExit', runTasks);
  tasks.add(task);
  return () => {
    tasks.delete(task);
    if (tasks.size === 0) process.off?.('beforeExit', runTasks);
  };
}
