type Listener = () => void;

/** Whether the last call got no complete response, or status 502 or 504 from a proxy. Meanwhile, lost-connection.tsx shows a banner. */
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
