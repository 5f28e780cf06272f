import { brotliDecompressSync } from 'node:zlib';

type Sql = <Row extends Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Tables whose rows contain a document or refer to one in a segment. */
type Table = 'trace_submissions' | 'telemetry_submissions' | 'otlp_exports';

interface DocumentRow extends Record<string, unknown> {
  inRow: Buffer | null;
  compressed: Buffer | null;
  segment_offset: number;
  segment_length: number;
}

/** The uncompressed documents of a tenant in a table, in the order of the table's primary key. They are read without the server's code. */
export async function storedDocuments(sql: Sql, table: Table, tenantId: string): Promise<Buffer[]> {
  const column = table === 'otlp_exports' ? 'r.body' : `convert_to(r.document, 'UTF8')`;
  const order = table === 'trace_submissions' ? 'r.trace, r.number' : 'r.id';
  const rows = await sql<DocumentRow>(
    `SELECT ${column} AS "inRow", s.compressed, r.segment_offset, r.segment_length FROM countersign.${table} AS r
       LEFT JOIN countersign.document_segments AS s ON s.tenant_id = r.tenant_id AND s.id = r.segment
      WHERE r.tenant_id = $1 ORDER BY ${order}`,
    [tenantId],
  );
  return rows.map(({ inRow, compressed, segment_offset, segment_length }) =>
    inRow === null ? brotliDecompressSync(compressed!).subarray(segment_offset, segment_offset + segment_length) : inRow,
  );
}
