import { ConfigurationError } from './http/errors.ts';

/** The globals that distinguish a browser from a server. */
export interface Runtime {
  document?: unknown;
  importScripts?: unknown;
  process?: { versions?: Record<string, string | undefined> };
  Deno?: unknown;
  Bun?: unknown;
}

/**
 * Whether this is a page or a worker of a browser. Node with a simulated page (jsdom, in tests) does not count as a browser. Edge runtimes
 * do not count either: they have no document and no importScripts.
 */
export function isBrowser(runtime: Runtime): boolean {
  if (runtime.process?.versions?.node !== undefined || runtime.Deno !== undefined || runtime.Bun !== undefined) return false;
  return runtime.document !== undefined || typeof runtime.importScripts === 'function';
}

/** Throws a ConfigurationError in a browser, because everyone who opens the page could read the key and send requests with it. */
export function refuseBrowser(runtime: Runtime = globalThis as Runtime): void {
  if (!isBrowser(runtime)) return;
  throw new ConfigurationError(
    'an ingestion key must not be used in a browser, where every visitor can read it: call Countersign from your server',
  );
}
