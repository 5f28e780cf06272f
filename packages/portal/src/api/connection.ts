/** Whether the server responded to the last call. lost-connection.tsx shows a banner if it did not. */
type Listener = () => void;

let lost = false;
const listeners = new Set<Listener>();

/** Records whether the server responded to a call. */
export function recordConnection(responded: boolean): void {
  if (lost === !responded) return;
  lost = !responded;
  for (const listener of listeners) listener();
}

/** For useSyncExternalStore. */
export const connection = {
  subscribe(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isLost: (): boolean => lost,
};
