/** Rejects when the command receives SIGINT or SIGTERM. The command then ends its processes and removes its data. */
export const interruption = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
});
interruption.catch(() => undefined);
