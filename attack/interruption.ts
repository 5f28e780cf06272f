/** Rejects when the command receives SIGINT or SIGTERM. Its processes are then ended and its data is removed. */
export const interruption = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
});
interruption.catch(() => undefined);
