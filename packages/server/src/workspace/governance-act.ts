import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries, entryOf, type ServiceEntry } from '../ledger/append.ts';
import type { ServiceAction } from '../ledger/service-actions.ts';
import { type Agent, findAgents } from '../storage/agents.ts';
import type { LockedHead } from '../storage/log-heads.ts';
import { type Actor, type ActorName, actorName, requireRoleStill } from './actor.ts';
import { NotThere } from './refusal.ts';
import { requireLabel } from './wrong-input.ts';

/** What an act works with, inside its transaction and behind the locked head of the audit ledger. */
export interface Act {
  tx: Transaction;
  /** The moment of the act, the same as its ledger entry's `recorded_at`. */
  now: string;
  /** Who acts, as rows name them. */
  by: ActorName;
  /** Appends the act's one ledger entry, by whoever acts. */
  record<A extends ServiceAction>(said: ServiceEntry<A>): Promise<unknown>;
}

/**
 * One governance act: state and ledger entry in one transaction. The head is locked before any row, the order of all that append,
 * so acts of one workspace also wait for each other and decide on what the one before has left: that includes the actor's own role.
 */
export async function governanceAct<T>(pool: Pool, tenantId: string, by: Actor, work: (act: Act) => Promise<T>): Promise<T> {
  return inTenantTransaction(pool, tenantId, (tx) =>
    actIn(tx, actorName(by), async (act) => {
      await requireRoleStill(tx, by);
      return work(act);
    }),
  );
}

/** The same inside a transaction that has begun, by whom nothing is asked: somebody who is only now to become a member, or is leaving. */
export async function actIn<T>(tx: Transaction, by: ActorName, work: (act: Act) => Promise<T>): Promise<T> {
  const { audit } = await lockLogs(tx, ['audit']);
  return work(actBehind(tx, by, audit));
}

/** An act behind the locked head of the audit ledger. */
export function actBehind(tx: Transaction, by: ActorName, head: LockedHead): Act {
  let isRecorded = false;
  const record: Act['record'] = <A extends ServiceAction>(said: ServiceEntry<A>) => {
    if (isRecorded) throw new Error('an act has one entry: a second one would be linked to the same row');
    isRecorded = true;
    return appendEntries(tx, head, [entryOf({ recorded_by: by, actor: by, ...said })]).sent;
  };
  return { tx, now: head.now, by, record };
}

/** An agent by its name, as people write it on the command line, or by its id, as the pages have it. */
export type AgentReference = string | { id: string };

/** The agent of a name or an id, or a Refusal. */
export async function requireAgent(tx: Transaction, reference: AgentReference): Promise<Agent> {
  const [agent] =
    typeof reference === 'string' ? await findAgents(tx, [], [reference]) : await findAgents(tx, [reference.id], []);
  return agent ?? unknownAgent(reference);
}

/** Throws NotThere with the remedy. */
export function unknownAgent(reference: AgentReference): never {
  if (typeof reference !== 'string') throw new NotThere('this workspace has no such agent');
  throw new NotThere(
    `this workspace has no agent named ${JSON.stringify(reference)}; an agent is registered by the first trace, telemetry event or evaluation that names it`,
  );
}

/** Refuses a name that none can have before anything is looked up. */
export const checkReference = (reference: AgentReference): void => {
  if (typeof reference === 'string') requireLabel('the agent', reference);
};
