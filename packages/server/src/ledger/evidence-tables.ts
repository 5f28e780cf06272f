import type { EvidenceState, KnownAgent, KnownEvaluation } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import {
  type AgentFacts,
  type EvaluationFacts,
  listAgentIds,
  readAgentFacts,
  readApprovalFacts,
  readEvaluationFacts,
  readOpenRecertifications,
} from '../storage/evidence-tables.ts';
import { idAfter, LOWEST_ID } from '../storage/id-range.ts';
import { evidenceStates } from './evidence-states.ts';
import { lockSealedHeads } from './sealed-heads.ts';

/** A row that differs from the evidence log. */
export interface TableFinding {
  table: 'agents' | 'evaluations' | 'approvals' | 'recertifications';
  /** ID of the agent, of the evaluation (also for an approval), or of the incident (for a re-certification). */
  id: string;
  /** How it differs. */
  fault: string;
}

/** The number of agents that are compared in one transaction. */
const AGENTS_PER_PAGE = 250;

/**
 * Compares the tables of a workspace with its evidence log: all agents, the evaluations that promotion checks can use, their approvals, and
 * the open re-certifications. Each transaction locks the head of the log, so that nothing changes meanwhile and no finding is false.
 */
export async function* compareTables(pool: Pool, tenantId: string): AsyncGenerator<TableFinding> {
  const runOnState = <T>(compare: (tx: Transaction, state: EvidenceState) => Promise<T>): Promise<T> =>
    inTenantTransaction(pool, tenantId, async (tx) => {
      const { evidence } = await lockSealedHeads(tx, ['evidence']);
      return compare(tx, await evidenceStates.atHead(tx, evidence));
    });
  for (let start = 0, isLast = false; !isLast; start += AGENTS_PER_PAGE) {
    const { findings, count } = await runOnState(async (tx, state) => {
      const agents = [...state.agents()].slice(start, start + AGENTS_PER_PAGE);
      return { findings: agents.length === 0 ? [] : await compareAgents(tx, state, agents), count: agents.length };
    });
    yield* findings;
    isLast = count < AGENTS_PER_PAGE;
  }
  for (let next: string | undefined = LOWEST_ID; next !== undefined; ) {
    const from: string = next;
    const ids = await runOnState(async (tx, state) =>
      (await listAgentIds(tx, from)).map((id) => ({ id, isKnown: state.agent(id) !== undefined })),
    );
    for (const { id, isKnown } of ids)
      if (!isKnown) yield { table: 'agents', id, fault: 'the log has no such agent: the row was inserted outside the server' };
    const last = ids.at(-1)?.id;
    next = last && idAfter(last);
  }
}

async function compareAgents(tx: Transaction, state: EvidenceState, agents: readonly KnownAgent[]): Promise<TableFinding[]> {
  const agentIds = agents.map(({ id }) => id);
  const evaluations = agents.flatMap(({ id }) => state.evaluationsOf(id));
  const evaluationIds = evaluations.map(({ id }) => id);
  const [rows, stored, approvals, openRecertifications] = await Promise.all([
    readAgentFacts(tx, agentIds),
    readEvaluationFacts(tx, evaluationIds),
    readApprovalFacts(tx, evaluationIds),
    readOpenRecertifications(tx, agentIds),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const evaluationRows = new Map(stored.map((row) => [row.id, row]));
  const approvalRows = new Map(approvals.map((row) => [row.evaluationId, row]));
  const findings: TableFinding[] = [];
  const add = (table: TableFinding['table'], id: string, fault: string | undefined) => {
    if (fault !== undefined) findings.push({ table, id, fault });
  };
  for (const agent of agents) {
    add('agents', agent.id, agentFault(agent, byId.get(agent.id)));
    const latestId = byId.get(agent.id)?.latestId ?? null;
    if (latestId !== null && latestId !== agent.latest?.id && !evaluationIds.includes(latestId))
      add(
        'evaluations',
        latestId,
        'it is the latest evaluation of its agent in the table, but not in the log: the row was inserted, or later rows were deleted',
      );
  }
  for (const evaluation of evaluations) {
    add('evaluations', evaluation.id, evaluationFault(evaluation, evaluationRows.get(evaluation.id)));
    add('approvals', evaluation.id, approvalFault(evaluation, approvalRows.get(evaluation.id)));
  }
  for (const { table, id, fault } of recertificationFaults(agents, openRecertifications)) add(table, id, fault);
  return findings;
}

/** The fault of the row of an agent; undefined if it matches the log. */
export function agentFault(agent: KnownAgent, row: AgentFacts | undefined): string | undefined {
  if (row === undefined) return 'the row is gone';
  if (row.name !== agent.name) return `its name is ${JSON.stringify(row.name)}, the log says ${JSON.stringify(agent.name)}`;
  return row.riskLevel === agent.riskLevel ? undefined : `its risk level is ${row.riskLevel}, the log says ${agent.riskLevel}`;
}

/** The facts about an evaluation that both its row and its event have. */
export const EVALUATION_FACTS = [
  'agentId',
  'harnessId',
  'name',
  'suite',
  'category',
  'status',
  'passRate',
  'recordedAt',
  'recordedBy',
  'evaluatedAt',
  'documentSha256',
] as const;

/** The fault of the row of an evaluation; undefined if it matches the log. */
export function evaluationFault(
  evaluation: Omit<KnownEvaluation, 'seq' | 'approval'>,
  row: EvaluationFacts | undefined,
): string | undefined {
  if (row === undefined) return 'the row is gone';
  const differing = EVALUATION_FACTS.find((field) => row[field] !== evaluation[field]);
  if (differing === undefined) return undefined;
  const factName =
    differing === 'documentSha256'
      ? 'the digest of its document'
      : differing.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return `${factName} is ${JSON.stringify(row[differing])}, the log says ${JSON.stringify(evaluation[differing])}`;
}

function approvalFault(
  { approval }: KnownEvaluation,
  row: { status: string; decidedAt: string | null } | undefined,
): string | undefined {
  if (approval === null) return row === undefined ? undefined : `it is ${row.status}, and the log has no such decision`;
  if (row === undefined) return `the log says that it is ${approval.status}; the row is gone or pending again`;
  if (row.status !== approval.status) return `it is ${row.status}, the log says ${approval.status}`;
  return row.decidedAt === approval.decidedAt
    ? undefined
    : `it was decided at ${row.decidedAt}, the log says ${approval.decidedAt}`;
}

function recertificationFaults(
  agents: readonly KnownAgent[],
  rows: readonly { agentId: string; incidentId: string }[],
): TableFinding[] {
  const inLog = new Map(
    agents.flatMap(({ id, openRecertifications }) => openRecertifications.map(({ incidentId }) => [incidentId, id])),
  );
  const inTable = new Map(rows.map(({ agentId, incidentId }) => [incidentId, agentId]));
  const missing = [...inLog.keys()].filter((id) => inTable.get(id) !== inLog.get(id));
  const added = [...inTable.keys()].filter((id) => !inLog.has(id));
  return [
    ...missing.map((id) => ({
      table: 'recertifications' as const,
      id,
      fault: 'the log says that it is open; the row is closed, gone or belongs to another agent',
    })),
    ...added.map((id) => ({
      table: 'recertifications' as const,
      id,
      fault: 'it is open, and the log says that it is closed or does not contain it',
    })),
  ];
}
