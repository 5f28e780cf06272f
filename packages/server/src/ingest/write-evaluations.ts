import { type DetailedEvaluationAccepted, FUTURE_MINUTES_MAX } from '@countersign/core/contract/detailed-evaluation';
import type { EvaluationAccepted } from '@countersign/core/contract/evaluation';
import type { Issue } from '@countersign/core/contract/issue';
import { operations } from '@countersign/core/contract/operations';
import { validationFailed } from '../api-error.ts';
import type { Transaction } from '../database/transaction.ts';
import { newId } from '../new-id.ts';
import { findAgents } from '../storage/agents.ts';
import { readClock } from '../storage/clock.ts';
import { type EvaluationRow, insertEvaluations } from '../storage/evaluations.ts';
import { AgentBook, type AgentClaim, claimed } from './agent-book.ts';
import { answered } from './endpoint.ts';
import { type NewAgent, registerAgents } from './register-agents.ts';
import { commitWithReplays, type Outcome, type Replayable, type Written } from './replays.ts';

/** An evaluation ready to be written, but for its agent. */
export interface PreparedEvaluation extends Replayable {
  claim: AgentClaim;
  row: Omit<EvaluationRow, 'id' | 'agentId'>;
  /** The answer to it once it has its id. */
  answerOf: (id: string) => EvaluationAccepted | DetailedEvaluationAccepted;
}

/** Writes evaluations of one tenant in one transaction, in the order they came. */
export const writeEvaluations = (tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.recordEvaluation.path, items, (fresh) => store(tx, fresh));

/** The same of POST /api/v1/evaluations. Idempotency keys count per path, so each batch is of one of the two. */
export const writeDetailedEvaluations = (tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.recordDetailedEvaluation.path, items, (fresh) => store(tx, fresh));

async function store(tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Written> {
  const before = tx.clock.read();
  const [agents, now] = await Promise.all([findAgents(tx, ...claimed(items.map(({ claim }) => claim))), readClock(tx)]);
  tx.clock.requireAgreement(before, now);
  const microsNow = BigInt(Date.parse(now)) * 1000n;
  const book = new AgentBook(agents);
  const rows: EvaluationRow[] = [];
  const registered: (readonly NewAgent[])[] = [];
  const outcomes = items.map(({ claim, row, answerOf }, index): Outcome => {
    const resolved = book.resolve([claim], () => futureIssues(row, microsNow));
    if ('issues' in resolved) return validationFailed(...resolved.issues);
    const id = newId();
    registered[index] = resolved.registered;
    rows.push({ ...row, id, agentId: resolved.agentIds[0] ?? null });
    return answered(answerOf(id));
  });
  if (rows.length === 0) return { outcomes, sent: Promise.resolve() };
  const registering = registerAgents(tx, book.registered);
  const registration = registering instanceof Promise ? await registering : registering;
  return {
    outcomes: outcomes.map((outcome, index) => registration.warn(outcome, registered[index] ?? [])),
    sent: Promise.all([registration.sent, insertEvaluations(tx, rows)]),
  };
}

/** An evaluation that was run in the future would stay fresh for too long. By the database's clock, as ages are. */
function futureIssues({ evaluatedAt }: Pick<EvaluationRow, 'evaluatedAt'>, microsNow: bigint): Issue[] {
  if (evaluatedAt === null || evaluatedAt <= microsNow + BigInt(FUTURE_MINUTES_MAX) * 60_000_000n) return [];
  const minutes = `evaluated_at lies more than ${FUTURE_MINUTES_MAX} minutes in the future`;
  const message = `${minutes}; check the sender's clock and the time zone (without an offset it is read as UTC)`;
  return [{ path: '/evaluated_at', code: 'in_the_future', message }];
}
