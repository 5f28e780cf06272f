/** An event contradicts those before it in its log: nothing that the server appends does. */
export class EventConflictError extends Error {
  override name = 'EventConflictError';
}

/** Applies an event; what about it does not follow from those before it, or undefined. */
export function conflict<Event>(state: { apply(event: Event): void }, event: Event): string | undefined {
  try {
    state.apply(event);
    return undefined;
  } catch (error) {
    if (error instanceof EventConflictError) return error.message;
    throw error;
  }
}
