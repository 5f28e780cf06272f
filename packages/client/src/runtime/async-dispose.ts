/// <reference lib="esnext.disposable" preserve="true" />

/** `Symbol.asyncDispose`. On older runtimes it is the registered symbol of this name, which esbuild and Babel use there. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as never);
