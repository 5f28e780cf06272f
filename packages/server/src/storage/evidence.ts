import type { EvaluationStatus } from '@countersign/core/contract/evaluation';
import type { EvidenceRead, OtherEvidenceEvaluation } from '@countersign/core/domain/evidence-document';
import { OTHERS_MAX } from '@countersign/core/domain/promotion';
import { int4Array, textArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { exactInstantText } from './instant-text.ts';

/** Which agent, and which harness alone if one is named. */
export interface EvidenceQuestion {
  agentId: string | null;
  agentName: string | null;
  harnessId: string | null;
}

interface EvidenceRow {
  place: number;
  read_at: string;
  agent_id: string | null;
  agent_name: string | null;
  risk_level: string | null;
  /** Whether the given id and the given name are of two agents, or one of them is unknown. */
  mismatch: boolean;
  evaluation_id: string | null;
  name: string;
  status: EvaluationStatus;
  pass_rate: number | null;
  category: string | null;
  harness_id: string | null;
  recorded_at: string;
  recorded_by: string;
  evaluated_at: string | null;
  others: OtherEvidenceEvaluation[] | null;
  approval: 'pending' | 'approved' | 'rejected' | null;
  approval_requested_at: string | null;
  approval_decided_at: string | null;
  open_recertifications: number;
}

/**
 * The latest evaluations of the agent's other series, each in the order of canonical JSON. A subquery under CASE: it costs nothing for an
 * agent of one series.
 */
const OTHERS = `
       SELECT json_agg(json_build_object('evaluated_at', ${exactInstantText('o.evaluated_at')}, 'name', o.name, 'pass_rate', o.pass_rate,
                                         'recorded_at', ${exactInstantText('o.recorded_at')}, 'status', o.status, 'suite', o.suite))
         FROM (SELECT * FROM countersign.evaluation_series AS s
                WHERE s.tenant_id = $1 AND s.agent_id = agent.id AND s.evaluation_id <> latest.id
                ORDER BY s.seq DESC LIMIT ${OTHERS_MAX + 1}) AS o`;

// One statement for all questions that arrived together: 2 times as fast as a statement each (docs/performance.md). The agent is looked
// up by id and by name apart: `id = … OR name = …` in one look-up walks all agents of the tenant. OFFSET 0 keeps `agent` a relation of its
// own: behind row-level security a bare COALESCE is no key for an index, and all evaluations of the tenant would be read.
const FIND = sql<EvidenceRow>(
  'find_evidence',
  `SELECT asked.place, agent.id AS agent_id, agent.name AS agent_name, agent.risk_level,
          asked.id IS NOT NULL AND asked.name IS NOT NULL AND by_id.id IS DISTINCT FROM by_name.id AS mismatch,
          latest.id AS evaluation_id, latest.name, latest.status, latest.pass_rate, latest.category, latest.harness_id, latest.recorded_by,
          ${exactInstantText('latest.recorded_at')} AS recorded_at, ${exactInstantText('latest.evaluated_at')} AS evaluated_at,
          ${exactInstantText('clock_timestamp()')} AS read_at,
          CASE WHEN agent.several_series AND latest.status = 'passing' THEN (${OTHERS}) END AS others,
          approval.status AS approval, ${exactInstantText('approval.requested_at')} AS approval_requested_at,
          ${exactInstantText('approval.decided_at')} AS approval_decided_at, open.count AS open_recertifications
     FROM unnest($2::integer[], $3::uuid[], $4::text[], $5::uuid[]) AS asked (place, id, name, harness_id)
     LEFT JOIN countersign.agents AS by_id ON by_id.tenant_id = $1 AND by_id.id = asked.id
     LEFT JOIN countersign.agents AS by_name ON by_name.tenant_id = $1 AND by_name.name = asked.name
    CROSS JOIN LATERAL (
       SELECT coalesce(by_id.id, by_name.id) AS id, coalesce(by_id.name, by_name.name) AS name,
              coalesce(by_id.risk_level, by_name.risk_level) AS risk_level,
              coalesce(by_id.several_series, by_name.several_series) AS several_series OFFSET 0) AS agent
     LEFT JOIN LATERAL (
       (SELECT e.* FROM countersign.evaluations AS e
         WHERE asked.harness_id IS NULL AND e.tenant_id = $1 AND e.agent_id = agent.id
         ORDER BY e.seq DESC LIMIT 1)
       UNION ALL
       (SELECT e.* FROM countersign.evaluations AS e
         WHERE asked.harness_id IS NOT NULL AND e.tenant_id = $1 AND e.agent_id = agent.id AND e.harness_id = asked.harness_id
         ORDER BY e.seq DESC LIMIT 1)) AS latest ON true
     LEFT JOIN countersign.approvals AS approval ON approval.tenant_id = $1 AND approval.evaluation_id = latest.id
     LEFT JOIN LATERAL (
       SELECT count(*) AS count FROM countersign.recertifications AS r
        WHERE r.tenant_id = $1 AND r.agent_id = agent.id AND r.closed_at IS NULL) AS open ON true
    ORDER BY asked.place`,
);

/** What was read for one question. `mismatch` says that id and name are not of one agent. */
export interface Found {
  evidence: EvidenceRead;
  mismatch: boolean;
}

/**
 * What the service holds about each agent asked for, all read in one moment; in the order of the questions. The same question asked
 * more than once, as by the jobs of one pipeline, is looked up once.
 */
export async function findEvidence(tx: Transaction, questions: readonly EvidenceQuestion[]): Promise<Found[]> {
  const asked = new Map(questions.map((question) => [identity(question), question]));
  const found = await lookUp(tx, [...asked.values()]);
  const byIdentity = new Map([...asked.keys()].map((key, index) => [key, found[index]!]));
  return questions.map((question) => byIdentity.get(identity(question))!);
}

/** The ids are of one length or null, so that a name with spaces is no other question. */
const identity = ({ agentId, harnessId, agentName }: EvidenceQuestion): string =>
  `${agentId} ${harnessId} ${agentName === null} ${agentName}`;

async function lookUp(tx: Transaction, questions: readonly EvidenceQuestion[]): Promise<Found[]> {
  const rows = await tx.run(FIND, [
    tx.tenantId,
    int4Array(questions.map((_, place) => place)),
    uuidArray(questions.map(({ agentId }) => agentId)),
    textArray(questions.map(({ agentName }) => agentName)),
    uuidArray(questions.map(({ harnessId }) => harnessId)),
  ]);
  return rows.map((row) => ({ evidence: evidenceOf(row), mismatch: row.mismatch === true }));
}

/** A row as the evidence document has it. Members stand in the order of canonical JSON. */
function evidenceOf(row: EvidenceRow): EvidenceRead {
  const { agent_id: id, agent_name: name, evaluation_id: evaluationId } = row;
  return {
    agent: id === null || name === null ? null : { id, name, risk_level: row.risk_level ?? '' },
    approval:
      row.approval === null
        ? null
        : { decided_at: row.approval_decided_at, requested_at: row.approval_requested_at!, status: row.approval },
    evaluation:
      evaluationId === null
        ? null
        : {
            category: row.category,
            evaluated_at: row.evaluated_at,
            harness_id: row.harness_id,
            id: evaluationId,
            name: row.name,
            pass_rate: row.pass_rate,
            recorded_at: row.recorded_at,
            recorded_by: row.recorded_by,
            status: row.status,
          },
    open_recertifications: row.open_recertifications,
    other_evaluations: row.others ?? [],
    read_at: row.read_at,
  };
}
