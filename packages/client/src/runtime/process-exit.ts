/** The part of a process that says when it has nothing left to do; Node, Bun and Deno have it. */
interface EndingProcess {
  on(event: 'beforeExit', listener: () => void): unknown;
  off(event: 'beforeExit', listener: () => void): unknown;
}

const tasks = new Set<() => void>();

const runTasks = (): void => {
  for (const task of [...tasks]) task();
};

/**
 * Runs a task when the process would end by itself, which waits for what the task starts. Not on `process.exit()` and not on a
 * signal. One listener for all clients, and none while nothing is to be done. Returns how to take the task back.
 */
export function beforeExit(task: () => void): () => void {
  const { process } = globalThis as { process?: Partial<EndingProcess> };
  if (typeof process?.on !== 'function' || typeof process.off !== 'function') return () => undefined;
  if (tasks.size === 0) process.on('beforeExit', runTasks);
  tasks.add(task);
  return () => {
    tasks.delete(task);
    if (tasks.size === 0) process.off?.('beforeExit', runTasks);
  };
}
