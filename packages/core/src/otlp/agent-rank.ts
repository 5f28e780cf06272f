/**
 * How reliable the agent of a trace is. A higher rank replaces a lower one. The agent is not known, or comes from the service of the
 * root span, from an agent span, from the root span, or from POST /api/public/traces.
 */
export const AGENT_RANK = { none: 0, serviceOfRoot: 1, invokedAgent: 2, root: 3, claimed: 4 } as const;
export type AgentRank = (typeof AGENT_RANK)[keyof typeof AGENT_RANK];
