/** An event contradicts the earlier events of its log. The server never appends such an event. */
export class EventConflictError extends Error {
  override name = 'EventConflictError';
}

/** Applies an event. Returns why it does not follow from the earlier events, or undefined. */
export function conflict<Event>(state: { apply(event: Event): void }, event: Event): string | undefined {
  try {
    state.apply(event);
    return undefined;
  } catch (error) {
    if (error instanceof EventConflictError) return error.message;
    throw error;
  }
}
