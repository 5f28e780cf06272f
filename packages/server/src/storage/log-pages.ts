/** The maximum number of rows of a page. */
export const PAGE_ROWS = 1000;

/** The maximum size of the documents of a page, in bytes. A larger document is alone on its page. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * SQL from FROM on, for a statement that reads the next page of a log: $1 is the tenant, $2 the number before the page, $3 the last number.
 * A range of seq limits the rows instead of a LIMIT (docs/decisions/0056), so the page is empty before a gap of PAGE_ROWS numbers. The
 * bytes of the page are limited before the documents are read: a thousand rows of one megabyte each must not arrive at once. `octet_length`
 * reads the stored size of a long text, not the text. The running sum, 2 µs per row, is computed only if the page is too long; the plain
 * sum costs 0.6 µs.
 */
export function pageOf(table: string): string {
  const range = `tenant_id = $1 AND seq > $2::bigint AND seq <= least($3::bigint, $2::bigint + ${PAGE_ROWS})`;
  return `FROM countersign.${table}
    WHERE tenant_id = $1 AND seq > $2::bigint AND seq <= CASE
      WHEN (SELECT sum(octet_length(document)) FROM countersign.${table} WHERE ${range}) <= ${PAGE_BYTES_MAX}
        THEN least($3::bigint, $2::bigint + ${PAGE_ROWS})
      ELSE (SELECT coalesce(max(seq) FILTER (WHERE bytes <= ${PAGE_BYTES_MAX}), min(seq))
              FROM (SELECT seq, sum(octet_length(document)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS bytes
                      FROM countersign.${table} WHERE ${range}) AS sized) END
    ORDER BY seq`;
}
