/**
 * The source of a trace's agent, from the least to the most reliable: no source, the service of the root span, an agent span, the root
 * span, or POST /api/public/traces. An agent replaces an agent with the same or a lower rank. But a request to POST /api/public/traces is
 * rejected if its agent differs from the agent of the root span or of an earlier such request.
 */
export const AGENT_RANK = { none: 0, serviceOfRoot: 1, invokedAgent: 2, root: 3, claimed: 4 } as const;
export type AgentRank = (typeof AGENT_RANK)[keyof typeof AGENT_RANK];
