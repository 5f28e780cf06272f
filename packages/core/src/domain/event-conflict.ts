/** An event contradicts the earlier events of its log. The server never appends such an event. */
export class EventConflictError extends Error {
  override name = 'EventConflictError';
}

/** Applies an event to a state. Returns why the event contradicts the earlier events, or undefined after applying it. */
export function applyEvent<Event>(state: { apply(event: Event): void }, event: Event): string | undefined {
  try {
    state.apply(event);
    return undefined;
  } catch (error) {
    if (error instanceof EventConflictError) return error.message;
    throw error;
  }
}
