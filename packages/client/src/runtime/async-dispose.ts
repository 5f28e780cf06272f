/// <reference lib="esnext.disposable" preserve="true" />

/** `Symbol.asyncDispose`, also on older runtimes: compilers then use the registered symbol of this name. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as never);
