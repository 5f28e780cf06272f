/** The ID and the name by which a record names its agent; null if not sent. The ID is in lower case. */
export interface AgentClaim {
  id: string | null;
  name: string | null;
  /** The record's place in the body, for issues. */
  at: readonly (string | number)[];
}

/** Returns the claim of a record. @param at the record's place in the body. */
export const agentClaim = (
  record: { agent_id?: string | null; agent_name?: string | null },
  at: readonly (string | number)[] = [],
): AgentClaim => ({
  id: record.agent_id?.toLowerCase() ?? null,
  name: record.agent_name ?? null,
  at,
});

/** Returns the distinct IDs and the distinct names in claims. */
export function claimedAgents(claims: readonly AgentClaim[]): [ids: string[], names: string[]] {
  const ids = new Set<string>();
  const names = new Set<string>();
  for (const { id, name } of claims) {
    if (id !== null) ids.add(id);
    if (name !== null) names.add(name);
  }
  return [[...ids], [...names]];
}
