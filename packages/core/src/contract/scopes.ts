/** What an ingestion key may do (specification 5.5). `telemetry` covers traces too. */
export const SCOPES = ['telemetry', 'evaluations', 'audit', 'governance'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether a text is the name of a scope. */
export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** What a key of either kind may do: an ingestion key has scopes of the list above, a read token this one alone. */
export type KeyScope = Scope | 'read';

/** Ingestion keys (`aa_live_`) write and read nothing; read tokens (`aa_read_`) read and write nothing. */
export type KeyKind = 'live' | 'read';
