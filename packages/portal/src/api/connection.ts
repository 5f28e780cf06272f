/** Whether the server answered the last call; the banner of lost-connection.tsx shows it. */
type Listener = () => void;

let lost = false;
const listeners = new Set<Listener>();

/** Notes that a call was answered, or that none came. */
export function recordConnection(answered: boolean): void {
  if (lost === !answered) return;
  lost = !answered;
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
