import type { RunSpan } from './run-span.ts';
import type { TraceRun } from './trace-run.ts';

/** Where new spans belong. */
export interface Place {
  run: TraceRun;
  /** The span that is open around the code that runs; undefined directly in the run. */
  span: RunSpan | undefined;
}

/** What of AsyncLocalStorage is used. */
interface Storage {
  run<T>(place: Place, work: () => T): T;
  getStore(): Place | undefined;
}

/** Follows a place through everything that is called and awaited, where the runtime can. */
const storage: Storage = asyncStorage() ?? synchronousStorage();

/** The place of the code that runs now. */
export const currentPlace = (): Place | undefined => storage.getStore();

/** Runs work in a place. */
export const inPlace = <T>(place: Place, work: () => T): T => storage.run(place, work);

function asyncStorage(): Storage | undefined {
  type Class = new () => Storage;
  const runtime = globalThis as {
    AsyncLocalStorage?: Class;
    process?: { getBuiltinModule?: (name: string) => { AsyncLocalStorage?: Class } | undefined };
  };
  const found = runtime.process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage ?? runtime.AsyncLocalStorage;
  return found === undefined ? undefined : new found();
}

/**
 * Where the runtime has no AsyncLocalStorage: the place is known until the work first waits. Guessing it afterwards would put spans
 * of runs that go side by side into each other; nest by the span that the work is given.
 */
export function synchronousStorage(): Storage {
  let current: Place | undefined;
  return {
    getStore: () => current,
    run: (place, work) => {
      const before = current;
      current = place;
      try {
        return work();
      } finally {
        current = before;
      }
    },
  };
}
