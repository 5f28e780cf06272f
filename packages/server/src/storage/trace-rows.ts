import { hash } from 'node:crypto';
import { int4Array, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { documentColumns, readDocumentsOf, type StoredDocument } from './document-segments.ts';
import { exactInstantText } from './instant-text.ts';
import { PAGE_ROWS } from './log-pages.ts';

/** A stored submission, to be compared with the trace log. Times are UTC with six fraction digits, digests are hex. */
export interface SubmissionFacts {
  /** `traces.id`. */
  id: string;
  number: number;
  receivedAt: string;
  recordedBy: string;
  /** Null if the document cannot be read from its segment. */
  documentSha256: string | null;
  /** Null if the submission names no export, or the export is missing or cannot be read. */
  exportSha256: string | null;
  /** Null if the row of the trace is missing. */
  traceId: string | null;
  /** Null if the trace has no agent, or the row of the trace is missing. */
  agentId: string | null;
  /** Null if the row of the trace is missing. */
  submissionCount: number | null;
}

type Row = Omit<SubmissionFacts, 'documentSha256' | 'exportSha256'> & StoredDocument & { export: string | null };

const READ = sql<Row>(
  'read_submission_facts',
  `SELECT s.trace AS id, s.number, ${exactInstantText('s.received_at')} AS "receivedAt", s.recorded_by AS "recordedBy",
          ${documentColumns('s')}, s.export, t.trace_id AS "traceId", t.agent_id AS "agentId", t.submission_count AS "submissionCount"
     FROM unnest($2::uuid[], $3::integer[]) AS input (trace, number)
     JOIN countersign.trace_submissions AS s ON s.tenant_id = $1 AND s.trace = input.trace AND s.number = input.number
     LEFT JOIN countersign.traces AS t ON t.tenant_id = $1 AND t.id = s.trace`,
);

const READ_EXPORTS = sql<StoredDocument & { id: string }>(
  'read_exports_of_submissions',
  `SELECT e.id, ${documentColumns('e', 'body')} FROM unnest($2::uuid[]) AS input (id)
     JOIN countersign.otlp_exports AS e ON e.tenant_id = $1 AND e.id = input.id`,
);

/** Reads the submissions that are stored at these places, with their documents and the exports from which they were mapped. */
export async function readSubmissionFacts(
  tx: Transaction,
  places: readonly { id: string; number: number }[],
): Promise<SubmissionFacts[]> {
  const ids = uuidArray(places.map(({ id }) => id));
  const rows = await tx.run(READ, [tx.tenantId, ids, int4Array(places.map(({ number }) => number))]);
  const exportIds = [...new Set(rows.flatMap((row) => row.export ?? []))];
  const exports = exportIds.length === 0 ? [] : await tx.run(READ_EXPORTS, [tx.tenantId, uuidArray(exportIds)]);
  const digests = (await readDocumentsOf(tx, [...rows, ...exports])).map((document) =>
    document === undefined ? null : hash('sha256', document, 'hex'),
  );
  const exportDigests = new Map(exports.map(({ id }, index) => [id, digests[rows.length + index]!]));
  return rows.map(({ id, number, receivedAt, recordedBy, traceId, agentId, submissionCount, ...row }, index) => ({
    ...{ id, number, receivedAt, recordedBy, traceId, agentId, submissionCount },
    documentSha256: digests[index]!,
    exportSha256: row.export === null ? null : (exportDigests.get(row.export) ?? null),
  }));
}

const COUNT = sql<{ rows: number; seq: number | null }>(
  'count_submissions',
  `SELECT (SELECT count(*) FROM countersign.trace_submissions WHERE tenant_id = $1) AS rows,
          (SELECT seq FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'traces') AS seq`,
);

/** The number of stored submissions, and the number of the last event in the trace log (0 without events), read by one statement. */
export const countSubmissions = async (tx: Transaction): Promise<{ rows: number; seq: number }> => {
  const [row] = await tx.run(COUNT, [tx.tenantId]);
  return { rows: row!.rows, seq: row!.seq ?? 0 };
};

/** The position of a submission in the order of `traces.id` and number. */
export interface SubmissionPlace {
  id: string;
  number: number;
}

const LIST = sql<SubmissionPlace>(
  'list_submission_places',
  `SELECT trace AS id, number FROM countersign.trace_submissions
    WHERE tenant_id = $1 AND (trace, number) > ($2::uuid, $3::integer) ORDER BY trace, number LIMIT ${PAGE_ROWS}`,
);

/** The places of the next PAGE_ROWS submissions after a place, in order. */
export const listSubmissionPlaces = (tx: Transaction, after: SubmissionPlace): Promise<SubmissionPlace[]> =>
  tx.run(LIST, [tx.tenantId, after.id, after.number]);
