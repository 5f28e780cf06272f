import { int4Array, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { exactInstantText } from './instant-text.ts';
import { PAGE_ROWS } from './ledger.ts';

/** A stored submission, to be compared with the log `traces`. Instants are UTC with six fraction digits. */
export interface SubmissionFacts {
  /** `traces.id`. */
  id: string;
  number: number;
  receivedAt: string;
  recordedBy: string;
  documentSha256: string;
  /** Null where no export is named, or it is gone. */
  exportSha256: string | null;
  /** Null where the trace is gone. */
  traceId: string | null;
  agentId: string | null;
  submissionCount: number | null;
}

const READ = sql<SubmissionFacts>(
  'read_submission_facts',
  `SELECT s.trace AS id, s.number, ${exactInstantText('s.received_at')} AS "receivedAt", s.recorded_by AS "recordedBy",
          encode(sha256(convert_to(s.document, 'UTF8')), 'hex') AS "documentSha256", encode(sha256(e.body), 'hex') AS "exportSha256",
          t.trace_id AS "traceId", t.agent_id AS "agentId", t.submission_count AS "submissionCount"
     FROM unnest($2::uuid[], $3::integer[]) AS asked (trace, number)
     JOIN countersign.trace_submissions AS s ON s.tenant_id = $1 AND s.trace = asked.trace AND s.number = asked.number
     LEFT JOIN countersign.traces AS t ON t.tenant_id = $1 AND t.id = s.trace
     LEFT JOIN countersign.otlp_exports AS e ON e.tenant_id = $1 AND e.id = s.export`,
);

/** The stored submissions with these places. */
export const readSubmissionFacts = (
  tx: Transaction,
  places: readonly { id: string; number: number }[],
): Promise<SubmissionFacts[]> =>
  tx.run(READ, [tx.tenantId, uuidArray(places.map(({ id }) => id)), int4Array(places.map(({ number }) => number))]);

const COUNT = sql<{ rows: number; seq: number | null }>(
  'count_submissions',
  `SELECT (SELECT count(*) FROM countersign.trace_submissions WHERE tenant_id = $1) AS rows,
          (SELECT seq FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'traces') AS seq`,
);

/** How many submissions are stored, and the number of the log's last event at the same moment. */
export const countSubmissions = async (tx: Transaction): Promise<{ rows: number; seq: number }> => {
  const [row] = await tx.run(COUNT, [tx.tenantId]);
  return { rows: row!.rows, seq: row!.seq ?? 0 };
};

/** A place behind which places are listed. */
export interface SubmissionPlace {
  id: string;
  number: number;
}

const LIST = sql<SubmissionPlace>(
  'list_submission_places',
  `SELECT trace AS id, number FROM countersign.trace_submissions
    WHERE tenant_id = $1 AND (trace, number) > ($2::uuid, $3::integer) ORDER BY trace, number LIMIT ${PAGE_ROWS}`,
);

/** The places of the next PAGE_ROWS submissions behind one, in order. */
export const listSubmissionPlaces = (tx: Transaction, after: SubmissionPlace): Promise<SubmissionPlace[]> =>
  tx.run(LIST, [tx.tenantId, after.id, after.number]);
