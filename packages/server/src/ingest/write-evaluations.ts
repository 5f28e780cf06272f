import { operations } from '@countersign/core/contract/operations';
import { validationFailed } from '../api-error.ts';
import type { Transaction } from '../database/transaction.ts';
import { newId } from '../new-id.ts';
import { findAgents, insertAgents } from '../storage/agents.ts';
import { type EvaluationRow, insertEvaluations } from '../storage/evaluations.ts';
import { AgentBook, type AgentClaim, claimed } from './agent-book.ts';
import { answered } from './endpoint.ts';
import { commitWithReplays, type Outcome, type Replayable, type Written } from './replays.ts';

/** An evaluation ready to be written, but for its agent. */
export interface PreparedEvaluation extends Replayable {
  claim: AgentClaim;
  row: Omit<EvaluationRow, 'id' | 'agentId'>;
}

/** Writes evaluations of one tenant in one transaction, in the order they came. */
export const writeEvaluations = (tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.recordEvaluation.path, items, (fresh) => store(tx, fresh));

async function store(tx: Transaction, items: readonly PreparedEvaluation[]): Promise<Written> {
  const book = new AgentBook(await findAgents(tx, ...claimed(items.map(({ claim }) => claim))));
  const rows: EvaluationRow[] = [];
  const outcomes = items.map(({ claim, row }): Outcome => {
    const resolved = book.resolve([claim]);
    if ('issues' in resolved) return validationFailed(...resolved.issues);
    const id = newId();
    rows.push({ ...row, id, agentId: resolved.agentIds[0] ?? null });
    return answered({ ok: true, id });
  });
  if (rows.length === 0) return { outcomes, sent: Promise.resolve() };
  return { outcomes, sent: Promise.all([insertAgents(tx, book.registered), insertEvaluations(tx, rows)]) };
}
