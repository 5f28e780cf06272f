import { boolArray, digestArray, int4Array, int8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { pageOf } from './log-pages.ts';

/** A signed decision ready to be stored, with its searchable columns. */
export interface DecisionRow {
  seq: number;
  id: string;
  recordedAt: string;
  recordedBy: string;
  agentId: string | null;
  evaluationId: string | null;
  allowed: boolean;
  reason: string;
  event: string;
  /** SHA-256 of the canonical response without its signature (docs/formats.md), hex: the leaf data of the log's tree. */
  responseSha256: string;
  /** The JSON text of the response, as signed and sent. */
  document: string;
  /** The canonical text of the evidence document. */
  evidence: string;
}

const INSERT = sql(
  'insert_decisions',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.decisions (tenant_id, seq, id, recorded_at, recorded_by, agent_id, evaluation_id, allowed, reason, event,
     response_sha256, document, evidence)
   SELECT $1, seq, id, recorded_at, recorded_by, agent_id, evaluation_id, allowed, reason, event,
          response_sha256, document, ($13::text[])[evidence_at]
     FROM unnest($2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::uuid[], $7::uuid[], $8::boolean[],
                 $9::text[], $10::text[], $11::bytea[], $12::text[], $14::int[])
       AS made (seq, id, recorded_at, recorded_by, agent_id, evaluation_id, allowed,
                reason, event, response_sha256, document, evidence_at)`,
    '$2::bigint[]',
  ),
);

/** Stores decisions, allowed and blocked ones. An evidence text that several decisions share is sent to the database once. */
export function insertDecisions(tx: Transaction, rows: readonly DecisionRow[]): void {
  const positions = new Map<string, number>();
  for (const { evidence } of rows) if (!positions.has(evidence)) positions.set(evidence, positions.size + 1);
  tx.send(INSERT, [
    tx.tenantId,
    int8Array(rows.map(({ seq }) => seq)),
    uuidArray(rows.map(({ id }) => id)),
    timestampArray(rows.map(({ recordedAt }) => BigInt(Date.parse(recordedAt)) * 1000n)),
    textArray(rows.map(({ recordedBy }) => recordedBy)),
    uuidArray(rows.map(({ agentId }) => agentId)),
    uuidArray(rows.map(({ evaluationId }) => evaluationId)),
    boolArray(rows.map(({ allowed }) => allowed)),
    textArray(rows.map(({ reason }) => reason)),
    textArray(rows.map(({ event }) => event)),
    digestArray(rows.map(({ responseSha256 }) => responseSha256)),
    textArray(rows.map(({ document }) => document)),
    textArray([...positions.keys()]),
    int4Array(rows.map(({ evidence }) => positions.get(evidence)!)),
  ]);
}

const FIND_TEXT = sql<{ seq: number; document: string }>(
  'find_decision_text',
  `SELECT seq, document FROM countersign.decisions WHERE tenant_id = $1 AND id = $2`,
);

/** The JSON text of a decision, and its number in the log; undefined if there is no such decision. The row is untrusted. */
export const findDecisionText = async (tx: Transaction, id: string): Promise<{ seq: number; document: string } | undefined> =>
  (await tx.run(FIND_TEXT, [tx.tenantId, id]))[0];

const FIND_EVIDENCE = sql<{ evidence: string }>(
  'find_decision_evidence',
  `SELECT evidence FROM countersign.decisions WHERE tenant_id = $1 AND id = $2`,
);

/** The canonical text of a decision's evidence document; undefined if there is no such decision. */
export const findDecisionEvidence = async (tx: Transaction, id: string): Promise<string | undefined> =>
  (await tx.run(FIND_EVIDENCE, [tx.tenantId, id]))[0]?.evidence;

/** A decision with its number in the log. */
export interface StoredDecision {
  seq: number;
  responseSha256: string;
  document: string;
}

const READ_PAGE = sql<StoredDecision>(
  'read_decisions_page',
  `SELECT seq, encode(response_sha256, 'hex') AS "responseSha256", document ${pageOf('decisions')}`,
);

/**
 * The next page of decisions after the number `after`, up to and including `last`, in order. It may be empty before a gap (log-pages.ts).
 */
export const readDecisionsPage = (tx: Transaction, after: number, last: number): Promise<StoredDecision[]> =>
  tx.run(READ_PAGE, [tx.tenantId, after, last]);

/** A stored decision with the columns that repeat members of its document. */
export interface DecisionColumns {
  seq: number;
  id: string;
  /** UTC with six fraction digits. The last three are zero unless the column was changed. */
  recorded_at: string;
  recorded_by: string;
  agent_id: string | null;
  evaluation_id: string | null;
  allowed: boolean;
  reason: string;
  event: string;
  response_sha256: string;
  document: string;
  evidence: string;
}

// A range of seq limits the rows instead of a LIMIT: see `pageOf`.
const READ_COLUMNS = sql<DecisionColumns>(
  'read_decision_columns_page',
  `SELECT seq, id, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS recorded_at, recorded_by, agent_id, evaluation_id, allowed,
          reason, event, encode(response_sha256, 'hex') AS response_sha256, document, evidence
     FROM countersign.decisions WHERE tenant_id = $1 AND seq > $2 AND seq <= least($3::bigint, $2::bigint + 1000) ORDER BY seq`,
);

/** The decisions with the next 1,000 numbers after `after`, up to and including `last`, in order, with their columns. */
export const readDecisionColumns = (tx: Transaction, after: number, last: number): Promise<DecisionColumns[]> =>
  tx.run(READ_COLUMNS, [tx.tenantId, after, last]);
