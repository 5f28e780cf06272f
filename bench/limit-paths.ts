/** Routes that only the measured server has (serve.ts), and never the product. */
export const LIMIT_PATHS = {
  /** Reads and validates a trace, and stores nothing. */
  traceReadOnly: '/bench/trace-read-only',
  /** Authenticates and answers. */
  tiny: '/bench/tiny',
  /** Keeps the body and nothing else, and the same after the evidence of a check was read (bare-storage.ts). */
  bare: '/bench/bare',
  bareCheck: '/bench/bare-check',
  /** Appends to the ledger, one entry a transaction. */
  auditSingly: '/bench/audit-singly',
  /** Appends to the ledger as the product does, and likewise without growing its tree. */
  auditWithTree: '/bench/audit-with-tree',
  auditWithoutTree: '/bench/audit-without-tree',
} as const;
