type Listener = () => void;

/** Whether the last call got no complete response, or status 502 or 504 from a proxy. If so, lost-connection.tsx shows a banner. */
let isConnectionLost = false;
const listeners = new Set<Listener>();

/** Records whether the server responded to a call. */
export function recordConnection(hasResponded: boolean): void {
  if (isConnectionLost === !hasResponded) return;
  isConnectionLost = !hasResponded;
  for (const listener of listeners) listener();
}

/** For useSyncExternalStore. */
export const connection = {
  subscribe(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isLost: (): boolean => isConnectionLost,
};
