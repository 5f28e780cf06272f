import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries, entryOf, type NewEntry } from '../ledger/append.ts';
import { type Agent, findAgents } from '../storage/agents.ts';
import type { ActingPerson } from './ingestion-keys.ts';
import { Refusal } from './refusal.ts';

/** What an act works with, inside its transaction and behind the locked head of the audit ledger. */
export interface Act {
  tx: Transaction;
  /** The moment of the act, the same as its ledger entry's `recorded_at`. */
  now: string;
  /** Appends the act's one ledger entry, by whoever acts. */
  record(said: Pick<NewEntry, 'action'> & Partial<NewEntry>): Promise<unknown>;
}

/**
 * One governance act: state and ledger entry in one transaction. The head is locked before any row, the order of all that append,
 * so acts of one workspace also wait for each other and decide on what the one before has left.
 */
export async function governanceAct<T>(
  pool: Pool,
  tenantId: string,
  by: ActingPerson,
  work: (act: Act) => Promise<T>,
): Promise<T> {
  return inTenantTransaction(pool, tenantId, (tx) => actIn(tx, by, work));
}

/** The same inside a transaction that has begun, of a workspace that it has made. */
export async function actIn<T>(tx: Transaction, by: ActingPerson, work: (act: Act) => Promise<T>): Promise<T> {
  const { audit: head } = await lockLogs(tx, ['audit']);
  return work({
    tx,
    now: head.now,
    record: (said) => appendEntries(tx, head, [entryOf({ recorded_by: by, actor: by, ...said })]).sent,
  });
}

/** The agent of a name, or a Refusal. */
export async function requireAgent(tx: Transaction, name: string): Promise<Agent> {
  const [agent] = await findAgents(tx, [], [name]);
  if (agent !== undefined) return agent;
  throw new Refusal(
    `this workspace has no agent named ${JSON.stringify(name)}; an agent is registered by the first trace, telemetry event or evaluation that names it`,
  );
}
