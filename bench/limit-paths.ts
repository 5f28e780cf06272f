/** Routes that only the benchmark server has (serve.ts). The rate of each is compared with the rate of another route. */
export const LIMIT_PATHS = {
  /** Reads and validates a trace, and stores nothing. */
  traceReadOnly: '/bench/trace-read-only',
  /** Authenticates, reads the body and stores nothing. */
  tiny: '/bench/tiny',
  /** Stores only the body (bare-storage.ts). */
  bare: '/bench/bare',
  /** Reads the evidence of a check, then stores only the body. */
  bareCheck: '/bench/bare-check',
  /** Appends to the ledger, one entry per transaction. */
  auditSingly: '/bench/audit-singly',
  /** Appends to the ledger with its tree (append-without-tree.ts). */
  auditWithTree: '/bench/audit-with-tree',
  /** Appends to the ledger without its tree. */
  auditWithoutTree: '/bench/audit-without-tree',
} as const;
