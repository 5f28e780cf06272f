/** Routes that only the measured server has (serve.ts). The product does not have them. */
export const LIMIT_PATHS = {
  /** Reads and validates a trace, and stores nothing. */
  traceReadOnly: '/bench/trace-read-only',
  /** Authenticates and answers. */
  tiny: '/bench/tiny',
  /** Stores only the body (bare-storage.ts). */
  bare: '/bench/bare',
  /** Reads the evidence of a check, then stores only the body. */
  bareCheck: '/bench/bare-check',
  /** Appends to the ledger, one entry a transaction. */
  auditSingly: '/bench/audit-singly',
  /** Appends to the ledger as the product does. */
  auditWithTree: '/bench/audit-with-tree',
  /** Does the same without the tree. */
  auditWithoutTree: '/bench/audit-without-tree',
} as const;
