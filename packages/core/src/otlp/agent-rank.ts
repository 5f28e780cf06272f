/** How reliably the agent of a trace is known. A higher rank replaces a lower one. */
export const AGENT_RANK = { none: 0, serviceOfRoot: 1, invokedAgent: 2, root: 3, claimed: 4 } as const;
export type AgentRank = (typeof AGENT_RANK)[keyof typeof AGENT_RANK];
