/**
 * The tabs of a browser share one session, so a sign-in or sign-out in one tab affects all of them. This channel notifies the
 * other tabs. The server rejects writes of a tab that still shows another person (SIGNED_IN_AS).
 */
const channel = new BroadcastChannel('countersign-signed-in');

/** Notifies the other tabs of a sign-in or sign-out in this tab. */
export const announceSessionChange = (): void => channel.postMessage(null);

/** Sets the handler for a sign-in or sign-out in another tab. */
export const onSessionChange = (act: () => void): void => {
  channel.onmessage = act;
};
