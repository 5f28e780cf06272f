import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { exactInstantText } from './instant-text.ts';
import { PAGE_ROWS } from './log-pages.ts';

/** The row of an agent, to be compared with the evidence log. */
export interface AgentFacts {
  id: string;
  name: string;
  riskLevel: string;
  /** The ID of the agent's evaluation with the highest number; null if there is none. */
  latestId: string | null;
}

const READ_AGENTS = sql<AgentFacts>(
  'read_agent_facts',
  `SELECT a.id, a.name, a.risk_level AS "riskLevel", latest.id AS "latestId"
     FROM unnest($2::uuid[]) AS input (id)
     JOIN countersign.agents AS a ON a.tenant_id = $1 AND a.id = input.id
     LEFT JOIN LATERAL (SELECT e.id FROM countersign.evaluations AS e
       WHERE e.tenant_id = $1 AND e.agent_id = a.id ORDER BY e.seq DESC LIMIT 1) AS latest ON true`,
);

/** The rows of the agents with these IDs, in no particular order. */
export const readAgentFacts = (tx: Transaction, ids: readonly string[]): Promise<AgentFacts[]> =>
  tx.run(READ_AGENTS, [tx.tenantId, uuidArray(ids)]);

const LIST_IDS = sql<{ id: string }>(
  'list_agent_ids',
  `SELECT id FROM countersign.agents WHERE tenant_id = $1 AND id >= $2 ORDER BY id LIMIT ${PAGE_ROWS}`,
);

/** The first PAGE_ROWS agent IDs from `from` on, in order. */
export const listAgentIds = async (tx: Transaction, from: string): Promise<string[]> =>
  (await tx.run(LIST_IDS, [tx.tenantId, from])).map(({ id }) => id);

/** The row of an evaluation, to be compared with the evidence log. Times are UTC with six fraction digits. */
export interface EvaluationFacts {
  /**
   * The `seq` of the row, in decimal. A row that was inserted outside the server may have any 64-bit number. It is not named `seq`, because
   * Citus would then sort the rows by this text, 10 before 9.
   */
  number: string;
  id: string;
  agentId: string | null;
  harnessId: string | null;
  name: string;
  suite: string | null;
  category: string | null;
  status: string;
  passRate: number | null;
  recordedAt: string;
  recordedBy: string;
  evaluatedAt: string | null;
  /** SHA-256 of the stored document, hex. */
  documentSha256: string;
}

const EVALUATION = `e.seq::text AS number, e.id, e.agent_id AS "agentId", e.harness_id AS "harnessId", e.name, e.suite, e.category, e.status, e.pass_rate AS "passRate",
  ${exactInstantText('e.recorded_at')} AS "recordedAt", e.recorded_by AS "recordedBy", ${exactInstantText('e.evaluated_at')} AS "evaluatedAt",
  encode(sha256(convert_to(e.document, 'UTF8')), 'hex') AS "documentSha256"`;

const READ_EVALUATIONS = sql<EvaluationFacts>(
  'read_evaluation_facts',
  `SELECT ${EVALUATION} FROM unnest($2::uuid[]) AS input (id) JOIN countersign.evaluations AS e ON e.tenant_id = $1 AND e.id = input.id`,
);

/** The rows of the evaluations with these IDs, in no particular order. */
export const readEvaluationFacts = (tx: Transaction, ids: readonly string[]): Promise<EvaluationFacts[]> =>
  tx.run(READ_EVALUATIONS, [tx.tenantId, uuidArray(ids)]);

const READ_EVALUATIONS_PAGE = sql<EvaluationFacts>(
  'read_evaluation_facts_page',
  `SELECT ${EVALUATION} FROM countersign.evaluations AS e
    WHERE e.tenant_id = $1 AND e.seq >= $2::bigint AND e.agent_id IS NOT NULL ORDER BY e.seq LIMIT ${PAGE_ROWS}`,
);

/** The first PAGE_ROWS evaluations that have an agent and a number of at least `from`, sorted by number. */
export const readEvaluationFactsPage = (tx: Transaction, from: bigint): Promise<EvaluationFacts[]> =>
  tx.run(READ_EVALUATIONS_PAGE, [tx.tenantId, `${from}`]);

/** The row of a decided approval, to be compared with the evidence log. */
export interface ApprovalFacts {
  evaluationId: string;
  agentId: string;
  status: string;
  decidedAt: string | null;
}

const READ_APPROVALS = sql<ApprovalFacts>(
  'read_approval_facts',
  `SELECT p.evaluation_id AS "evaluationId", p.agent_id AS "agentId", p.status, ${exactInstantText('p.decided_at')} AS "decidedAt"
     FROM unnest($2::uuid[]) AS input (id)
     JOIN countersign.approvals AS p ON p.tenant_id = $1 AND p.evaluation_id = input.id WHERE p.status <> 'pending'`,
);

/** The rows of the decided approvals of these evaluations, in no particular order. */
export const readApprovalFacts = (tx: Transaction, evaluationIds: readonly string[]): Promise<ApprovalFacts[]> =>
  tx.run(READ_APPROVALS, [tx.tenantId, uuidArray(evaluationIds)]);

const READ_OPEN = sql<{ agentId: string; incidentId: string }>(
  'read_open_recertification_facts',
  `SELECT r.agent_id AS "agentId", r.incident_id AS "incidentId" FROM unnest($2::uuid[]) AS input (id)
     JOIN countersign.recertifications AS r ON r.tenant_id = $1 AND r.agent_id = input.id WHERE r.closed_at IS NULL`,
);

/** The open re-certifications of these agents, in no particular order. */
export const readOpenRecertifications = (
  tx: Transaction,
  agentIds: readonly string[],
): Promise<{ agentId: string; incidentId: string }[]> => tx.run(READ_OPEN, [tx.tenantId, uuidArray(agentIds)]);
