/** Longest free text that the service takes. */
const TEXT_LENGTH_MAX = 65_536;

/** What was thrown, in words. Never throws itself: hosts throw all kinds of things. */
export function errorText(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)).slice(0, TEXT_LENGTH_MAX);
  } catch {
    return 'something was thrown that has no text';
  }
}
