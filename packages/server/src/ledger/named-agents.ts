import type { Trace } from '@countersign/core/contract/trace';
import { type AgentClaim, agentClaim, claimedAgents } from '@countersign/core/domain/agent-claim';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { findAgents } from '../storage/agents.ts';
import { readTraceSubmissions } from '../storage/trace-columns.ts';
import type { SubmissionPlace } from '../storage/trace-rows.ts';
import { parsedDocument } from './stored-document.ts';

/** Returns for each list of claims the IDs of the stored agents that it names, by ID or by name. */
export async function findNamedAgents(tx: Transaction, lists: readonly (readonly AgentClaim[])[]): Promise<Set<string>[]> {
  const agents = await findAgents(tx, ...claimedAgents(lists.flat()));
  const byName = new Map(agents.map(({ id, name }) => [name, id]));
  const known = new Set(agents.map(({ id }) => id));
  return lists.map((claims) => {
    const named = claims.map(({ id, name }) => id ?? (name === null ? undefined : byName.get(name)));
    return new Set(named.filter((id) => id !== undefined && known.has(id)) as string[]);
  });
}

/** Whether a trace may have this agent: the documents of the trace must name the agent. If the agent is null, they must name no agent. */
export const isNamedAgent = (agentId: string | null, named: ReadonlySet<string>): boolean =>
  agentId === null ? named.size === 0 : named.has(agentId);

/** Reads the documents of a trace up to and including a submission. Returns the IDs of the stored agents that they name. */
export async function findAgentsNamedUpTo(pool: Pool, tenantId: string, last: SubmissionPlace): Promise<Set<string>> {
  const claims: AgentClaim[] = [];
  for (let read = 0; read < last.number; ) {
    const after = { id: last.id, number: read };
    const page = await inTenantTransaction(pool, tenantId, (tx) => readTraceSubmissions(tx, after, last.id));
    if (page.length === 0) break;
    read = page.at(-1)!.number;
    for (const { number, document } of page) {
      const parsed = number > last.number ? undefined : (parsedDocument(document ?? '') as Trace | undefined);
      if (parsed !== undefined) claims.push(agentClaim(parsed));
    }
  }
  const [named] = await inTenantTransaction(pool, tenantId, (tx) => findNamedAgents(tx, [claims]));
  return named!;
}
