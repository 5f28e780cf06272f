/** The run and the span that new spans belong to. `currentRun` in trace-run.ts has their types. */
export interface SpanContext {
  run: object;
  /** The innermost open span; undefined outside of spans. */
  span: object | undefined;
}

/** The part of AsyncLocalStorage that is used. */
interface Storage {
  run<T>(context: SpanContext, work: () => T): T;
  getStore(): SpanContext | undefined;
}

/** Keeps the context across calls and awaits, if the runtime supports it. */
const storage: Storage = asyncStorage() ?? synchronousStorage();

/** The context of the running code. */
export const currentContext = (): SpanContext | undefined => storage.getStore();

/** Runs work in a context. */
export const runInContext = <T>(context: SpanContext, work: () => T): T => storage.run(context, work);

function asyncStorage(): Storage | undefined {
  type StorageClass = new () => Storage;
  const runtime = globalThis as {
    AsyncLocalStorage?: StorageClass;
    process?: { getBuiltinModule?: (name: string) => { AsyncLocalStorage?: StorageClass } | undefined };
  };
  const Class = runtime.process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage ?? runtime.AsyncLocalStorage;
  return Class === undefined ? undefined : new Class();
}

/**
 * For runtimes without AsyncLocalStorage. The context is available only until the work first awaits, because concurrent runs must not mix
 * their spans. After its first `await`, the work must start spans on the span that it receives.
 */
export function synchronousStorage(): Storage {
  let current: SpanContext | undefined;
  return {
    getStore: () => current,
    run: (context, work) => {
      const outer = current;
      current = context;
      try {
        return work();
      } finally {
        current = outer;
      }
    },
  };
}
