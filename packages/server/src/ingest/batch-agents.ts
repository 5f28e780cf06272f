import type { Issue } from '@countersign/core/contract/issue';
import { ISSUES_MAX, jsonPointer } from '@countersign/core/contract/json-pointer';
import type { AgentClaim } from '@countersign/core/domain/agent-claim';
import { acceptableName, agentNameProblems } from '@countersign/core/domain/agent-name';
import type { Agent } from '../storage/agents.ts';
import { newId } from '../storage/new-id.ts';
import type { NewAgent } from './register-agents.ts';

/**
 * The agents that a batch may name: the known ones, and those that the batch registers (docs/api.md). A rejected record registers no agent.
 */
export class BatchAgents {
  /** Agents to register with the batch. */
  readonly registered: NewAgent[] = [];
  readonly #byId = new Map<string, { id: string; name: string }>();
  readonly #byName = new Map<string, { id: string; name: string }>();
  readonly #remedy: string;

  /**
   * @param known the known agents that have one of the claimed IDs or names.
   * @param remedy tells the sender of an unknown agent_id what to do. The default does not fit audit entries: they have no agent_name.
   */
  constructor(known: readonly Pick<Agent, 'id' | 'name'>[], remedy = 'also send agent_name, to register the agent') {
    this.#remedy = remedy;
    for (const agent of known) this.#note(agent);
  }

  /**
   * Resolves the agents of one record. Returns the ID for each claim, in order, or null for a claim that names no agent. Also returns the
   * agents that the record registers. If there are issues, returns only these, at most ISSUES_MAX.
   * @param recordedBy who sent the record.
   * @param otherIssues returns further issues of the record, given the IDs of its agents. Called only if no claim has an issue.
   */
  resolve(
    claims: readonly AgentClaim[],
    recordedBy: string,
    otherIssues: (agentIds: (string | null)[]) => Issue[] = () => [],
  ): { agentIds: (string | null)[]; registered: readonly NewAgent[] } | { issues: Issue[] } {
    const staged: NewAgent[] = [];
    const agentIds: (string | null)[] = [];
    const issues: Issue[] = [];
    for (const claim of claims) {
      if (issues.length >= ISSUES_MAX) break; // So a record with many invalid names costs little.
      const resolved = this.#resolveOne(claim, recordedBy, staged);
      if (Array.isArray(resolved)) issues.push(...resolved);
      agentIds.push(Array.isArray(resolved) ? null : resolved);
    }
    if (issues.length === 0) issues.push(...otherIssues(agentIds));
    if (issues.length > 0) {
      for (const { id, name } of staged) {
        this.#byId.delete(id);
        this.#byName.delete(name);
      }
      return { issues: issues.slice(0, ISSUES_MAX) };
    }
    for (const agent of staged) this.registered.push(agent);
    return { agentIds, registered: staged };
  }

  #note(agent: { id: string; name: string }): void {
    this.#byId.set(agent.id, agent);
    this.#byName.set(agent.name, agent);
  }

  /** The ID of the claimed agent; null if the claim names none; or the issues of the claim. */
  #resolveOne({ id, name, at }: AgentClaim, recordedBy: string, staged: NewAgent[]): string | null | Issue[] {
    if (id === null && name === null) return null;
    const byId = id === null ? undefined : this.#byId.get(id);
    const byName = name === null ? undefined : this.#byName.get(name);
    if (name === null) return byId?.id ?? [unknownAgent(at, this.#remedy)];
    if (byId !== undefined && byId.name !== name)
      return [mismatch(at, 'agent_name', `agent_id belongs to ${JSON.stringify(byId.name)}`)];
    if (byName !== undefined && id !== null && byName.id !== id)
      return [mismatch(at, 'agent_id', 'agent_name belongs to an agent with another ID')];
    if (byName !== undefined) return byName.id;
    // Only new names are checked, so that records can name older agents that would not be accepted today.
    const formIssues = nameIssues(name, at);
    if (formIssues.length > 0) return formIssues;
    const agent = { id: id ?? newId(), name, recordedBy };
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

function nameIssues(name: string, at: readonly (string | number)[]): Issue[] {
  return agentNameProblems(name).map(({ code, message }) => ({
    path: jsonPointer([...at, 'agent_name']),
    code,
    message: `agent_name ${message}; ${nameRemedy(name)}`,
  }));
}

/** The maximum length of a name that a message repeats. */
const REPEATED_LENGTH_MAX = 100;

function nameRemedy(name: string): string {
  const accepted = acceptableName(name);
  if (accepted === '') return 'send a visible name';
  return accepted.length > REPEATED_LENGTH_MAX ? 'correct the name, and send it in NFC' : `send ${JSON.stringify(accepted)}`;
}

const mismatch = (at: readonly (string | number)[], member: string, why: string): Issue => ({
  path: jsonPointer([...at, member]),
  code: 'agent_mismatch',
  message: `agent_id and agent_name refer to different agents: ${why}; send one of the two, or the ID and the name of one agent`,
});
