/** What an ingestion key may do (specification 5.5). `telemetry` covers traces too. */
export const SCOPES = ['telemetry', 'evaluations', 'audit', 'governance'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether a text is the name of a scope. */
export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);
