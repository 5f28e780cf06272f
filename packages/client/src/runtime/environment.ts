/** The globals of the runtimes that have environment variables. */
interface Runtime {
  process?: { versions?: Record<string, string | undefined>; env?: Record<string, string | undefined> };
  Deno?: { env?: { get(name: string): string | undefined } };
  Bun?: unknown;
}

/**
 * An environment variable on Node, Bun and Deno. Undefined on other runtimes, if the variable is empty, and if reading it is not allowed
 * (Deno without --allow-env).
 */
export function environmentVariable(name: string, runtime: Runtime = globalThis as Runtime): string | undefined {
  const { process, Deno, Bun } = runtime;
  try {
    const isServer = process?.versions?.node !== undefined || Bun !== undefined;
    const value = Deno?.env !== undefined ? Deno.env.get(name) : isServer ? process?.env?.[name] : undefined;
    return value?.trim() || undefined;
  } catch {
    return undefined;
  }
}
