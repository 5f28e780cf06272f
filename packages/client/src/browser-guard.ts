import { ConfigurationError } from './http/errors.ts';

/** The parts of a runtime's global scope that tell a browser from a server. */
export interface Runtime {
  document?: unknown;
  importScripts?: unknown;
  process?: { versions?: Record<string, string | undefined> };
  Deno?: unknown;
  Bun?: unknown;
}

/**
 * Whether this is a page or a worker of a browser. Node with a simulated page (jsdom, in tests) is none, nor are the edge
 * runtimes, which have neither a document nor importScripts.
 */
export function isBrowser(runtime: Runtime): boolean {
  if (runtime.process?.versions?.node !== undefined || runtime.Deno !== undefined || runtime.Bun !== undefined) return false;
  return runtime.document !== undefined || typeof runtime.importScripts === 'function';
}

/** Refuses to go on in a browser: whoever opens the page could read the key and write in the workspace's name. */
export function refuseBrowser(runtime: Runtime = globalThis as Runtime): void {
  if (!isBrowser(runtime)) return;
  throw new ConfigurationError(
    "this is a browser, and an ingestion key in a browser is everybody's key: call Countersign from your server, and let the page call that",
  );
}
