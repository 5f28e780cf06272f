/**
 * Tabs of one browser share a session: whoever signs in or out in one of them has done so in all. The others hear of it at once; what a tab
 * that has not heard asks for in somebody else's name is refused (SIGNED_IN_AS).
 */
const channel = new BroadcastChannel('countersign-signed-in');

/** Says to the other tabs that somebody has signed in or out here. */
export const announceSessionChange = (): void => channel.postMessage(null);

/** Calls when somebody has signed in or out in another tab. */
export const onSessionChange = (act: () => void): void => {
  channel.onmessage = act;
};
