import type { KnownAgent } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { appendEntries, entryOf, type ServiceEntry } from '../ledger/append.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import type { ServiceAction } from '../ledger/service-actions.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { type Actor, type ActorName, actorName, requireCurrentRole } from './actor.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';
import { requireLabel } from './wrong-input.ts';

/** What the code of an act needs: the transaction, the time, the actor, and the function that appends the entry to the audit ledger. */
export interface Act {
  tx: Transaction;
  /** The time of the act, equal to its ledger entry's `recorded_at`. */
  now: string;
  /** The name of the actor in rows. */
  by: ActorName;
  /** Appends the entry of the act to the audit ledger, and returns its number. A second call throws. */
  record<A extends ServiceAction>(entry: ServiceEntry<A>): number;
}

/**
 * Runs one governance act with its entry in the audit ledger, in one transaction. The head of the ledger is locked before any row. So the
 * governance acts of a workspace wait for each other, and each sees the result of the previous one, including a change of the actor's
 * role.
 * @throws RuleViolationError if the actor has lost the required role.
 */
export async function governanceAct<T>(pool: Pool, tenantId: string, by: Actor, work: (act: Act) => Promise<T>): Promise<T> {
  return inTenantTransaction(pool, tenantId, (tx) =>
    actIn(tx, actorName(by), async (act) => {
      await requireCurrentRole(tx, by);
      return work(act);
    }),
  );
}

/** Does the same as `governanceAct`, in an existing transaction and without a check of the role: for a person who is joining or leaving. */
export async function actIn<T>(tx: Transaction, by: ActorName, work: (act: Act) => Promise<T>): Promise<T> {
  const { audit } = await lockLogs(tx, ['audit']);
  return work(actAtHead(tx, by, audit));
}

/** Creates the `Act` of a transaction. @param head the locked head of the audit ledger. */
export function actAtHead(tx: Transaction, by: ActorName, head: HeadToMove): Act {
  let isRecorded = false;
  const record: Act['record'] = <A extends ServiceAction>(entry: ServiceEntry<A>) => {
    if (isRecorded) throw new Error('an action has one ledger entry; a second one would get the same predecessor');
    isRecorded = true;
    return appendEntries(tx, head, [entryOf({ recorded_by: by, actor: by, ...entry })]).moved.seq;
  };
  return { tx, now: head.now, by, record };
}

/** An agent by its name, on the command line, or by its ID, in the portal. */
export type AgentReference = string | { id: string };

/**
 * Returns the agent with a name or an ID. It is read from the evidence log and not from its table, so that a changed row cannot put another
 * agent in the ledger.
 * @throws NotFoundError if there is none.
 */
export const requireAgent = (tx: Transaction, reference: AgentReference): Promise<KnownAgent> =>
  evidenceStates.read(
    tx,
    (state) =>
      (typeof reference === 'string' ? state.agentNamed(reference) : state.agent(reference.id)) ?? throwUnknownAgent(reference),
  );

/**
 * Throws RuleViolationError if the person saw another name than the evidence log has.
 * @param seenName undefined if the person saw no page.
 */
export function requireSeenName({ name }: KnownAgent, seenName: string | undefined): void {
  if (seenName === undefined || seenName === name) return;
  throw new RuleViolationError(
    `the page showed the agent as ${JSON.stringify(seenName)}, but the evidence log has ${JSON.stringify(name)}. Nothing was recorded. ` +
      'Reload the page. If you did not expect this, tell the operator that the database may have been changed outside the server',
  );
}

/** Throws NotFoundError. For a name, the message says how an agent is registered. */
export function throwUnknownAgent(reference: AgentReference): never {
  if (typeof reference !== 'string') throw new NotFoundError('this workspace has no such agent');
  throw new NotFoundError(
    `this workspace has no agent named ${JSON.stringify(reference)}; an agent is registered by the first trace, telemetry event or evaluation that names it`,
  );
}

/** Throws InvalidInputError for a name that no agent can have. Call it before reading anything. */
export const requireValidReference = (reference: AgentReference): void => {
  if (typeof reference === 'string') requireLabel('the agent', reference);
};
