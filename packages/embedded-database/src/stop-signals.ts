/** How long a fast shutdown may take, so that the whole stop of a server stays below ten seconds. */
const fastShutdownMs = 6_000;

/**
 * How long an immediate shutdown may take after the fast shutdown. An immediate shutdown skips PostgreSQL's checkpoint, so the next start
 * recovers from the write-ahead log.
 */
const immediateShutdownMs = 1_000;

/** The signals that stop PostgreSQL, one after the other, and how long each may take, in milliseconds. */
export const stopSignals = [
  ['SIGINT', fastShutdownMs],
  ['SIGQUIT', immediateShutdownMs],
  ['SIGKILL', immediateShutdownMs],
] as const;
