import type { Issue } from '@countersign/core/contract/issue';
import { jsonPointer } from '@countersign/core/contract/json-pointer';
import { newId } from '../new-id.ts';
import type { Agent } from '../storage/agents.ts';

/** How a record names its agent. Ids are in lower case. */
export interface AgentClaim {
  id: string | null;
  name: string | null;
  /** Where in the body it stands, for issues. */
  at: readonly (string | number)[];
}

/** The claim of a record's `agent_id` and `agent_name`. */
export const agentClaim = (
  record: { agent_id?: string | null; agent_name?: string | null },
  at: readonly (string | number)[] = [],
): AgentClaim => ({
  id: record.agent_id?.toLowerCase() ?? null,
  name: record.agent_name ?? null,
  at,
});

/**
 * The agents that a batch knows: those found in the database, and those it registers as it goes
 * (decisions.md, "Agents and harnesses"). A record that is refused registers nobody.
 */
export class AgentBook {
  /** Agents to be registered with the batch. */
  readonly registered: { id: string; name: string }[] = [];
  readonly #byId = new Map<string, { id: string; name: string }>();
  readonly #byName = new Map<string, { id: string; name: string }>();
  readonly #remedy: string;

  /** @param remedy what the sender of an unknown agent_id can do; not every record has an agent_name to register it by. */
  constructor(known: readonly Agent[], remedy = 'send agent_name with it to register it') {
    this.#remedy = remedy;
    for (const agent of known) this.#note(agent);
  }

  /**
   * Resolves the claims of one record, all or none.
   * @param alsoWrong what else is wrong with the record once its agents are known.
   */
  resolve(
    claims: readonly AgentClaim[],
    alsoWrong: (agentIds: (string | null)[]) => Issue[] = () => [],
  ): { agentIds: (string | null)[] } | { issues: Issue[] } {
    const staged: { id: string; name: string }[] = [];
    const results = claims.map((claim) => this.#resolveOne(claim, staged));
    const agentIds = results.map((result) => (typeof result === 'object' ? null : (result ?? null)));
    const issues = results.filter((result): result is Issue => typeof result === 'object' && result !== null);
    if (issues.length === 0) issues.push(...alsoWrong(agentIds));
    if (issues.length > 0) {
      for (const { id, name } of staged) {
        this.#byId.delete(id);
        this.#byName.delete(name);
      }
      return { issues };
    }
    this.registered.push(...staged);
    return { agentIds };
  }

  #note(agent: { id: string; name: string }): void {
    this.#byId.set(agent.id, agent);
    this.#byName.set(agent.name, agent);
  }

  #resolveOne({ id, name, at }: AgentClaim, staged: { id: string; name: string }[]): string | Issue | undefined {
    if (id === null && name === null) return undefined;
    const byId = id === null ? undefined : this.#byId.get(id);
    const byName = name === null ? undefined : this.#byName.get(name);
    if (name === null) return byId?.id ?? unknownAgent(at, this.#remedy);
    if (byId !== undefined && byId.name !== name)
      return mismatch(at, 'agent_name', `agent_id belongs to ${JSON.stringify(byId.name)}`);
    if (byName !== undefined && id !== null && byName.id !== id)
      return mismatch(at, 'agent_id', 'agent_name belongs to an agent with another id');
    if (byName !== undefined) return byName.id;
    const agent = { id: id ?? newId(), name };
    staged.push(agent);
    this.#note(agent);
    return agent.id;
  }
}

const unknownAgent = (at: readonly (string | number)[], remedy: string): Issue => ({
  path: jsonPointer([...at, 'agent_id']),
  code: 'unknown_agent',
  message: `agent_id is not registered in this workspace; ${remedy}`,
});

const mismatch = (at: readonly (string | number)[], member: string, why: string): Issue => ({
  path: jsonPointer([...at, member]),
  code: 'agent_mismatch',
  message: `${member} does not fit: ${why}; send one of the two, or a pair that belongs together`,
});

/** The distinct ids and names of claims, as findAgents takes them. */
export function claimed(claims: readonly AgentClaim[]): [ids: string[], names: string[]] {
  const ids = new Set<string>();
  const names = new Set<string>();
  for (const { id, name } of claims) {
    if (id !== null) ids.add(id);
    if (name !== null) names.add(name);
  }
  return [[...ids], [...names]];
}
