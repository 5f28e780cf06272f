import { hash } from 'node:crypto';
import { type DetailedEvaluationAccepted, FUTURE_MINUTES_MAX } from '@countersign/core/contract/detailed-evaluation';
import type { EvaluationAccepted } from '@countersign/core/contract/evaluation';
import type { Issue } from '@countersign/core/contract/issue';
import { operations } from '@countersign/core/contract/operations';
import type { AgentClaim } from '@countersign/core/domain/agent-claim';
import type { Transaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEvidence, type NewFact } from '../ledger/evidence-log.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { type EvaluationRow, insertEvaluations } from '../storage/evaluations.ts';
import { exactText } from '../storage/instant-text.ts';
import { newId } from '../storage/new-id.ts';
import { takeRecordNumbers } from '../storage/record-order.ts';
import { BatchAgents } from './batch-agents.ts';
import { ingestReply } from './ingest-request.ts';
import { findLoggedAgents, type NewAgent, registerAgents } from './register-agents.ts';
import { commitWithReplays, type Outcome, type Replayable } from './replays.ts';

/** An evaluation to write. Its claim names the agent. */
export interface PreparedEvaluation extends Replayable {
  claim: AgentClaim;
  row: Omit<EvaluationRow, 'id' | 'agentId'>;
  /** Returns the response body for the ID of the evaluation. */
  responseOf: (id: string) => EvaluationAccepted | DetailedEvaluationAccepted;
}

/** Writes evaluations of one tenant in one transaction, in the order of arrival. */
export const writeEvaluations = (tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.recordEvaluation.path, items, (newItems) => store(tx, newItems));

/** Like `writeEvaluations`, for POST /api/v1/evaluations. Idempotency keys are per path, so a batch has requests of one endpoint only. */
export const writeDetailedEvaluations = (tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.recordDetailedEvaluation.path, items, (newItems) => store(tx, newItems));

/**
 * Stores evaluations. Their agents are looked up in the evidence log, not in the table of agents: a changed row must not assign an
 * evaluation to another agent.
 */
async function store(tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Outcome[]> {
  let numbers: Promise<number[]> | undefined;
  // The record numbers are taken under the lock, so that the numbers of a tenant are in the order of its commits.
  const { evidence: head } = await lockLogs(tx, ['evidence'], () => {
    numbers = takeRecordNumbers(tx, items.length);
  });
  const state = await evidenceStates.atHead(tx, head);
  const microsNow = BigInt(Date.parse(head.now)) * 1000n;
  const batchAgents = new BatchAgents(
    findLoggedAgents(
      state,
      items.map(({ claim }) => claim),
    ),
  );
  const rows: EvaluationRow[] = [];
  const registered: (readonly NewAgent[])[] = [];
  const outcomes = items.map(({ claim, row, responseOf }, index): Outcome => {
    const resolved = batchAgents.resolve([claim], row.recordedBy, () => futureIssues(row, microsNow));
    if ('issues' in resolved) return validationFailed(...resolved.issues);
    const id = newId();
    registered[index] = resolved.registered;
    rows.push({ ...row, id, agentId: resolved.agentIds[0] ?? null });
    return ingestReply(responseOf(id));
  });
  if (rows.length === 0) return outcomes;
  const registration = await registerAgents(tx, batchAgents.registered, head);
  appendEvidence(tx, registration.head ?? head, rows.flatMap(factOf));
  insertEvaluations(tx, head.now, rows, await numbers!);
  return outcomes.map((outcome, index) => registration.warn(outcome, registered[index] ?? []));
}

/** The event of an evaluation in the evidence log. An evaluation without an agent has none. */
function factOf(row: EvaluationRow): NewFact[] {
  if (row.agentId === null) return [];
  return [
    {
      action: 'evaluation.recorded',
      agent_id: row.agentId,
      category: row.category,
      document_sha256: hash('sha256', row.document, 'hex'),
      evaluated_at: row.evaluatedAt === null ? null : exactText(row.evaluatedAt),
      evaluation_id: row.id,
      harness_id: row.harnessId,
      name: row.name,
      pass_rate: row.passRate,
      recorded_by: row.recordedBy,
      status: row.status,
      suite: row.suite,
    },
  ];
}

/**
 * Returns an issue if the time of an evaluation is too far in the future. Such an evaluation would count as fresh for too long. The
 * database's clock decides, because it also determines the age of evaluations.
 */
function futureIssues({ evaluatedAt }: Pick<EvaluationRow, 'evaluatedAt'>, microsNow: bigint): Issue[] {
  if (evaluatedAt === null || evaluatedAt <= microsNow + BigInt(FUTURE_MINUTES_MAX) * 60_000_000n) return [];
  const problem = `evaluated_at is more than ${FUTURE_MINUTES_MAX} minutes in the future`;
  const message = `${problem}; check the sender's clock and the time zone (a time without an offset is read as UTC)`;
  return [{ path: '/evaluated_at', code: 'in_the_future', message }];
}
