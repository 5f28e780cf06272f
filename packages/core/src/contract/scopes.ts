/** The permissions that an ingestion key can have. `telemetry` includes traces. */
export const SCOPES = ['telemetry', 'evaluations', 'audit', 'governance'] as const;
/** A permission of an ingestion key. */
export type Scope = (typeof SCOPES)[number];

/** Whether a text is the name of a scope. */
export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** A permission of a key: an ingestion key has one or more of SCOPES, a read token has only `read`. */
export type KeyScope = Scope | 'read';

/**
 * The kinds of keys, named as in their prefixes. Ingestion keys (`aa_live_`) can write but not read; read tokens (`aa_read_`) can read but
 * not write.
 */
export type KeyKind = 'live' | 'read';
